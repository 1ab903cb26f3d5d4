import { charactersIn, limits } from '../adapters/portal/wire.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { holdsCredentials, parseHttpsAddress } from '../vocabulary/https-address.ts'
import { holdsCpf } from '../vocabulary/tax-numbers.ts'

interface Declarations {
  readonly subscriptions?: readonly { readonly evento: string; readonly endpoint?: string }[]
  readonly receiver?: { readonly publicUrl: string }
}

/** Checks the declared subscriptions against the limits of document 3, section 8. Throws `MISCONFIGURED`. */
export function checkDeclarations({ subscriptions = [], receiver }: Declarations): void {
  const declared = new Set<string>()
  for (const { evento, endpoint = receiver?.publicUrl ?? '' } of subscriptions) {
    checkHoldsNoCpf(evento, endpoint)
    if (!isHeaderText(evento) || charactersIn(evento) > limits.evento) {
      const wrong = `its evento must have 1 to ${limits.evento} characters that a header can carry`
      throw subscriptionError(evento.slice(0, limits.evento), wrong)
    }
    checkEndpoint(evento, endpoint)
    if (declared.has(evento)) throw subscriptionError(evento, 'it is declared twice')
    declared.add(evento)
  }
}

/** Both are in clear in the log, and a row of the portal's list with a CPF in either of them is not read. */
function checkHoldsNoCpf(evento: string, endpoint: string): void {
  for (const [name, text] of Object.entries({ evento, endpoint })) {
    if (!holdsCpf(text)) continue
    throw new AverbaError('MISCONFIGURED', `Cannot subscribe: an ${name} contains what looks like a CPF`, {
      hint: 'Use another name or path in subscriptions or receiver.publicUrl: it is stored in clear for ever',
    })
  }
}

/** The portal names the event in a header: Latin-1, without blanks at the ends. */
function isHeaderText(text: string): boolean {
  return /^[!-~\u00a1-\u00ff]([ -~\u00a0-\u00ff]*[!-~\u00a1-\u00ff])?$/.test(text)
}

/** HTTPS on port 443, at most 500 characters (section 4, rule 1). */
function checkEndpoint(evento: string, endpoint: string): void {
  const url = parseHttpsAddress(endpoint)
  if (charactersIn(endpoint) > limits.endpoint)
    throw subscriptionError(evento, `its endpoint is over ${limits.endpoint} characters`)
  if (holdsCredentials(endpoint)) throw subscriptionError(evento, 'its endpoint contains a user name or a password')
  if (!url) throw subscriptionError(evento, 'it needs an https address as endpoint, or receiver.publicUrl')
  if (url.port !== '') throw subscriptionError(evento, 'its endpoint must be on port 443')
}

export function subscriptionError(evento: string, what: string): AverbaError {
  return new AverbaError('MISCONFIGURED', `Cannot subscribe to "${evento}": ${what}`, {
    hint: 'Correct the options subscriptions or receiver.publicUrl',
  })
}

import type { Secrets } from './adapters/portal/protocol.ts'
import { limits } from './adapters/portal/wire.ts'
import { valueFrom } from './adapters/source.ts'
import { AverbaError } from './errors.ts'
import type { AverbaOptions, DesiredSubscription } from './options.ts'

/** The subscriptions that the host declares, checked against the limits of document 3, section 8. */
export class Desired {
  readonly #declared = new Map<string, DesiredSubscription & { readonly endpoint: string }>()

  /** @throws {AverbaError} `MISCONFIGURED` */
  constructor({ subscriptions = [], receiver }: Pick<AverbaOptions, 'subscriptions' | 'receiver'>) {
    for (const declared of subscriptions) {
      const { evento } = declared
      const endpoint = declared.endpoint ?? receiver?.publicUrl ?? ''
      checkEvento(evento)
      checkEndpoint(evento, endpoint)
      if (this.#declared.has(evento)) throw misconfigured(evento, 'it is declared twice')
      this.#declared.set(evento, { ...declared, endpoint })
    }
  }

  get all(): { readonly evento: string; readonly endpoint: string }[] {
    return [...this.#declared.values()]
  }

  /** The secrets of an event's subscription: none when nothing is declared for it. */
  async secretsOf(evento: string): Promise<Secrets> {
    const declared = this.#declared.get(evento)
    const chaveSecreta = await this.#ask(evento, 'chaveSecreta', declared?.chaveSecreta)
    const chaveAutenticacao = await this.#ask(evento, 'chaveAutenticacao', declared?.chaveAutenticacao)
    return {
      ...(chaveSecreta !== undefined && { chaveSecreta }),
      ...(chaveAutenticacao !== undefined && { chaveAutenticacao }),
    }
  }

  /** The secrets that a notification of this event may carry: of an unknown event, any that is declared. */
  async candidatesFor(evento: string): Promise<Secrets[]> {
    const eventos = this.#declared.has(evento) ? [evento] : [...this.#declared.keys()]
    return Promise.all(eventos.map(each => this.secretsOf(each)))
  }

  async #ask(
    evento: string,
    name: string,
    source: DesiredSubscription['chaveSecreta'],
  ): Promise<string | undefined> {
    if (source === undefined) return undefined
    const value = await valueFrom(source, name)
    // It travels in a header, which drops spaces at its ends and carries nothing beyond ASCII unharmed.
    if (value.length <= limits.chave && /^[!-~]([ -~]*[!-~])?$/.test(value)) return value
    throw misconfigured(
      evento,
      `its ${name} must have 1 to ${limits.chave} printable ASCII characters, and no space at its ends`,
    )
  }
}

function checkEvento(evento: string): void {
  if (evento.length > 0 && evento.length <= limits.evento) return
  throw misconfigured(evento.slice(0, limits.evento), `its evento must have 1 to ${limits.evento} characters`)
}

/** HTTPS on port 443, at most 500 characters (section 4, rule 1). */
function checkEndpoint(evento: string, endpoint: string): void {
  const url = URL.parse(endpoint)
  if (endpoint.length > limits.endpoint)
    throw misconfigured(evento, `its endpoint is over ${limits.endpoint} characters`)
  if (url?.protocol !== 'https:') throw misconfigured(evento, 'its endpoint must be an https address')
  if (url.port !== '') throw misconfigured(evento, 'its endpoint must be on port 443')
}

function misconfigured(evento: string, what: string): AverbaError {
  return new AverbaError('MISCONFIGURED', `Cannot subscribe to "${evento}": ${what}`, {
    hint: 'Correct the options subscriptions or receiver.publicUrl',
  })
}

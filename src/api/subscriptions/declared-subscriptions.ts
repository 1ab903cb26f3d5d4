import { createHmac } from 'node:crypto'
import { type SecretSource, secretFrom } from '../../adapters/credentials/secret.ts'
import type { Secrets } from '../../adapters/portal/protocol.ts'
import { limits } from '../../adapters/portal/wire.ts'
import type { HeldEndpoint } from '../../machines/subscription/messages.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { subscriptionError } from '../check-declarations.ts'
import type { HostOptions, SubscriptionDeclaration } from '../options.ts'

/** The values from which the secrets of one event are made, as read from their sources. */
export interface SecretValues {
  readonly master: string | undefined
  readonly chaveSecreta: string | undefined
  readonly chaveAutenticacao: string | undefined
}

type EndpointDeclaration = SubscriptionDeclaration & { readonly endpoint: string }

/** A shorter master could be guessed from one leaked secret. */
const masterCharactersMin = 32

export class DeclaredSubscriptions {
  readonly #declared = new Map<string, EndpointDeclaration>()
  readonly #master: SecretSource | undefined

  constructor({ subscriptions = [], receiver }: Pick<HostOptions, 'subscriptions' | 'receiver'>) {
    this.#master = receiver?.secretFrom
    for (const declared of subscriptions) {
      const { endpoint = receiver?.publicUrl ?? '' } = declared
      this.#declared.set(declared.evento, { ...declared, endpoint })
    }
  }

  get all(): readonly EndpointDeclaration[] {
    return [...this.#declared.values()]
  }

  /** Whether the `chaveSecreta` of an event is derived from the master and so can be rotated. */
  isDerived(evento: string): boolean {
    const declared = this.#declared.get(evento)
    return declared !== undefined && declared.chaveSecreta === undefined && this.#master !== undefined
  }

  isDeclared(evento: string): boolean {
    return this.#declared.has(evento)
  }

  /** The endpoint that an event is to be sent to; empty when it is not declared. */
  endpointOf(evento: string): string {
    return this.#declared.get(evento)?.endpoint ?? ''
  }

  /** Reads the values of an event's secrets from their sources; empty when the event is not declared. */
  async readSources(evento: string): Promise<SecretValues> {
    const declared = this.#declared.get(evento)
    const master = this.isDerived(evento) && this.#master
    return {
      master: master ? await secretFrom(master, 'receiver.secretFrom') : undefined,
      chaveSecreta: await this.#readSource(evento, 'chaveSecreta', declared?.chaveSecreta),
      chaveAutenticacao: await this.#readSource(evento, 'chaveAutenticacao', declared?.chaveAutenticacao),
    }
  }

  async #readSource(
    evento: string,
    name: string,
    source: SubscriptionDeclaration['chaveSecreta'],
  ): Promise<string | undefined> {
    if (source === undefined) return undefined
    const value = await secretFrom(source, name)
    // It is sent in a header, which loses spaces at the ends and garbles anything but ASCII.
    if (value.length <= limits.chave && /^[!-~]([ -~]*[!-~])?$/.test(value)) return value
    throw subscriptionError(
      evento,
      `its ${name} must have 1 to ${limits.chave} printable ASCII characters, without spaces at the ends`,
    )
  }
}

export function createSecrets(evento: string, { master, ...given }: SecretValues, held: HeldEndpoint): Secrets {
  const chaveSecreta = master === undefined ? given.chaveSecreta : deriveSecret(master, evento, held)
  const { chaveAutenticacao } = given
  return {
    ...(chaveSecreta !== undefined && { chaveSecreta }),
    ...(chaveAutenticacao !== undefined && { chaveAutenticacao }),
  }
}

/** Derives a printable secret of 43 characters, valid for one event, endpoint and generation only. */
function deriveSecret(master: string, evento: string, { endpoint, generation }: HeldEndpoint): string {
  if (master.length < masterCharactersMin) {
    const hint = 'Make one with: openssl rand -base64 32'
    const cannot = `Cannot derive secrets: receiver.secretFrom must have ${masterCharactersMin} characters or more`
    throw new AverbaError('MISCONFIGURED', cannot, { hint })
  }
  const about = JSON.stringify(['averba chaveSecreta v1', evento, endpoint, generation])
  return createHmac('sha256', master).update(about).digest('base64url')
}

import { createHmac } from 'node:crypto'
import { type SecretSource, secretFrom } from '../../adapters/credentials/secret.ts'
import type { Secrets } from '../../adapters/portal/protocol.ts'
import { limits } from '../../adapters/portal/wire.ts'
import type { HeldEndpoint } from '../../machines/subscription/messages.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { subscriptionError } from '../check-declarations.ts'
import type { HostOptions, SubscriptionDeclaration } from '../options.ts'
import type { SecretGenerations } from './secrets/generations.ts'

/** The values from which the secrets of one event are made, as read from their sources. */
export interface SecretValues {
  readonly master: string | undefined
  readonly chaveSecreta: string | undefined
  readonly chaveAutenticacao: string | undefined
}

type EndpointDeclaration = SubscriptionDeclaration & { readonly endpoint: string }

/** Receives values read from their sources; for a call, with the position of the event that requested it. */
type OnSourcesRead = (evento: string, values: SecretValues, requestedAt?: number) => Promise<void>

/** A shorter master could be guessed from one leaked secret. */
const masterCharactersMin = 32

/** How many generations after the current one are tried to recognise the secrets of another log of ours. */
const generationsTried = 20

/** The subscriptions that the host declares, as `checkDeclarations` has checked them. */
export class DeclaredSubscriptions {
  readonly #declared = new Map<string, EndpointDeclaration>()
  readonly #master: SecretSource | undefined
  #generations: Pick<SecretGenerations, 'current' | 'accepted'> = {
    current: async () => 1,
    accepted: async () => ({ current: 1, others: [] }),
  }
  #onSourcesRead: OnSourcesRead = async () => undefined

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

  /** Connects the log, which is opened later: the generations, and the listener for values that were read. */
  connect(generations: Pick<SecretGenerations, 'current' | 'accepted'>, onSourcesRead: OnSourcesRead): void {
    this.#generations = generations
    this.#onSourcesRead = onSourcesRead
  }

  /** Whether the `chaveSecreta` of an event is derived from the master and so can be rotated. */
  isDerived(evento: string): boolean {
    const declared = this.#declared.get(evento)
    return declared !== undefined && declared.chaveSecreta === undefined && this.#master !== undefined
  }

  isDeclared(evento: string): boolean {
    return this.#declared.has(evento)
  }

  generationOf(evento: string): Promise<number> {
    return this.#generations.current(evento)
  }

  /** The secrets of an event's subscription, read from their sources now; empty when the event is not declared. */
  async secretsOf(evento: string, held: HeldEndpoint, requestedAt?: number): Promise<Secrets> {
    return createSecrets(evento, await this.readSources(evento, requestedAt), held)
  }

  async readSources(evento: string, requestedAt?: number): Promise<SecretValues> {
    const declared = this.#declared.get(evento)
    const master = this.isDerived(evento) && this.#master
    const values = {
      master: master ? await secretFrom(master, 'receiver.secretFrom') : undefined,
      chaveSecreta: await this.#readSource(evento, 'chaveSecreta', declared?.chaveSecreta),
      chaveAutenticacao: await this.#readSource(evento, 'chaveAutenticacao', declared?.chaveAutenticacao),
    }
    await this.#onSourcesRead(evento, values, requestedAt)
    return values
  }

  /** The generation of our secrets that a listed subscription has; null when they are not ours. */
  async generationIn(
    evento: string,
    { endpoint, secrets }: { endpoint: string; secrets: Secrets },
  ): Promise<number | null> {
    const current = await this.generationOf(evento)
    const others = Array.from({ length: current + generationsTried }, (_, i) => i + 1)
    const tried = this.isDerived(evento) ? [current, ...others] : [current]
    const values = await this.readSources(evento)
    for (const generation of tried) {
      const ours = createSecrets(evento, values, { endpoint, generation })
      const isSame = ours.chaveSecreta === secrets.chaveSecreta
      if (isSame && ours.chaveAutenticacao === secrets.chaveAutenticacao) return generation
    }
    return null
  }

  /** The secrets that a notification of a declared event may carry. */
  async candidateSecrets(evento: string, values: SecretValues): Promise<Secrets[]> {
    const { endpoint = '' } = this.#declared.get(evento) ?? {}
    if (!this.isDerived(evento)) return [createSecrets(evento, values, { endpoint, generation: 1 })]
    const { current, others } = await this.#generations.accepted(evento)
    const here = [current, current + 1].map(generation => ({ endpoint, generation }))
    return [...here, ...others].map(held => createSecrets(evento, values, held))
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

function createSecrets(evento: string, { master, ...given }: SecretValues, held: HeldEndpoint): Secrets {
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

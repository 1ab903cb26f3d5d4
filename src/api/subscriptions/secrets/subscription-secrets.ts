import type { Secrets } from '../../../adapters/portal/protocol.ts'
import type { ReceivedHead } from '../../../adapters/receiver/received-head.ts'
import { matchesSecrets } from '../../../adapters/receiver/sender.ts'
import type { HeldEndpoint } from '../../../machines/subscription/messages.ts'
import { errorName } from '../../../vocabulary/error-words.ts'
import { isWithin } from '../../../vocabulary/instant.ts'
import type { ApiContext } from '../../api-context.ts'
import { createSecrets, type DeclaredSubscriptions, type SecretValues } from '../declared-subscriptions.ts'
import { createGenerations } from './generations.ts'
import { createSecretHistory } from './history.ts'

/** After this time a notification has the sources read again, without waiting for it. */
const refreshMs = 60_000
/** The least time between two readings because of unknown secrets: anyone may send wrong ones. */
const rereadMinMs = 10_000
/** The least time between two readings of a source that has not worked yet. */
const retryMinMs = 1_000
/** How many generations after the current one are tried to recognise the secrets of another log of ours. */
const generationsTried = 20

export type SubscriptionSecrets = ReturnType<typeof createSubscriptionSecrets>

/**
 * Creates the secrets of our subscriptions, and those that notifications may carry. The values of their sources are
 * cached; they are read again now and then, and when a notification does not match. A former secret is accepted as long
 * as the portal has it.
 */
export function createSubscriptionSecrets(context: ApiContext, declarations: DeclaredSubscriptions) {
  const { clock, engine, log } = context
  const generations = createGenerations(context)
  const history = createSecretHistory(context, generations)
  const cache = new Map<string, { readonly values: SecretValues; readonly at: number }>()
  const readings = new Map<string, Promise<SecretValues>>()
  const readTimes = new Map<string, number>()
  const errors = new Map<string, { readonly error: unknown; readonly at: number }>()

  /** The secrets of an event, read now; empty when it is not declared. `requestedAt`: of the call that sends them. */
  async function secretsOf(evento: string, held: HeldEndpoint, requestedAt?: number): Promise<Secrets> {
    return createSecrets(evento, await readSources(evento, requestedAt), held)
  }

  /** The generation of our secrets that a listed subscription has; null when they are not ours, or not known here. */
  async function generationIn(
    evento: string,
    { endpoint, secrets }: { endpoint: string; secrets: Secrets },
  ): Promise<number | null> {
    if (!declarations.isDeclared(evento)) return null
    const current = await generations.current(evento)
    const others = Array.from({ length: current + generationsTried }, (_, i) => i + 1)
    const tried = declarations.isDerived(evento) ? [current, ...others] : [current]
    const values = await readSources(evento)
    const found = tried.find(generation => {
      const { chaveSecreta, chaveAutenticacao } = createSecrets(evento, values, { endpoint, generation })
      return chaveSecreta === secrets.chaveSecreta && chaveAutenticacao === secrets.chaveAutenticacao
    })
    return found ?? null
  }

  /** The known secrets of an event; for an undeclared event, those of all declared ones. */
  async function candidatesFor(evento: string): Promise<Secrets[]> {
    const candidates = eventosFor(evento).map(async each => makeCandidates(each, await currentValues(each)))
    return (await Promise.all(candidates)).flat()
  }

  /** Checks unknown secrets again. Throws the last error of their source: while it fails, they may be right. */
  async function recheck(head: ReceivedHead): Promise<boolean> {
    const { evento } = head
    for (const each of eventosFor(evento)) if (await history.matches(each, head)) return true
    if (!declarations.isDeclared(evento)) return false
    const isRead = await readAgain(evento)
    const failed = errors.get(evento)
    if (failed) throw failed.error
    if (!isRead) return false
    return matchesSecrets(head, await candidatesFor(evento)) || history.matches(evento, head)
  }

  /** The events whose secrets have changed at their source and not at the portal: they need an `apply`. */
  async function unapplied(): Promise<string[]> {
    const found: string[] = []
    for (const { evento } of declarations.all) if (await history.needsApply(evento)) found.push(evento)
    return found
  }

  /** The declared events whose secrets count for a name: its own, else those of another case, else all. */
  function eventosFor(evento: string): string[] {
    if (declarations.isDeclared(evento)) return [evento]
    const declared = declarations.all.map(each => each.evento)
    const sameName = declared.filter(each => each.toLowerCase() === evento.toLowerCase())
    return sameName.length > 0 ? sameName : declared
  }

  /** The secrets that a notification of a declared event may carry. */
  async function makeCandidates(evento: string, values: SecretValues): Promise<Secrets[]> {
    const endpoint = declarations.endpointOf(evento)
    if (!declarations.isDerived(evento)) return [createSecrets(evento, values, { endpoint, generation: 1 })]
    const { current, others } = await generations.accepted(evento)
    const here = [current, current + 1].map(generation => ({ endpoint, generation }))
    return [...here, ...others].map(held => createSecrets(evento, values, held))
  }

  async function currentValues(evento: string): Promise<SecretValues> {
    const now = clock.now()
    const known = cache.get(evento)
    if (known) {
      if (!isWithin(refreshMs, known.at, now)) void readAgain(evento)
      return known.values
    }
    const failed = errors.get(evento)
    if (failed && isWithin(retryMinMs, failed.at, now)) throw failed.error
    return readShared(evento)
  }

  /** Reads the sources again. False when they were read a moment ago or one fails: the cached values stay in use. */
  async function readAgain(evento: string): Promise<boolean> {
    const reading = readings.get(evento)
    const readAt = readTimes.get(evento)
    if (!reading && readAt !== undefined && isWithin(rereadMinMs, readAt, clock.now())) return false
    try {
      await (reading ?? readShared(evento))
      return true
    } catch (error) {
      const message = 'a secret of a subscription could not be read again: the known one stays in use'
      if (!reading) log({ level: 'error', message, error: errorName(error) })
      return false
    }
  }

  function readShared(evento: string): Promise<SecretValues> {
    const reading = readings.get(evento)
    if (reading) return reading
    readTimes.set(evento, clock.now())
    const read = async () => {
      const values = await readSources(evento).catch((error: unknown) => {
        errors.set(evento, { error, at: clock.now() })
        throw error
      })
      errors.delete(evento)
      return values
    }
    const begun = engine.admit(read).finally(() => readings.delete(evento))
    readings.set(evento, begun)
    return begun
  }

  async function readSources(evento: string, requestedAt?: number): Promise<SecretValues> {
    const values = await declarations.readSources(evento)
    cache.set(evento, { values, at: clock.now() })
    await history.noteSources(evento, values, await makeCandidates(evento, values), requestedAt)
    return values
  }

  return {
    generationOf: generations.current,
    /** Notes that the portal listed the current secrets of an event: the former ones expire. */
    noteSeenAtPortal: history.noteSeenAtPortal,
    ...{ secretsOf, generationIn, candidatesFor, recheck, unapplied },
  }
}

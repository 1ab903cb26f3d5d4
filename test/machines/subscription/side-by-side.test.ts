import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { MachineState } from '../../../src/machines/definition/machine.ts'
import { subscriptionMachine } from '../../../src/machines/subscription/subscription.ts'
import {
  applyLifeInput,
  beginLife,
  type LifeInput,
  type SubscriptionLife,
} from '../../../src/simulation/services/portal/subscription.ts'
import { dayMs, toInstant } from '../../../src/vocabulary/instant.ts'
import type { Event, Message } from '../../../src/vocabulary/message.ts'
import { statePaths } from '../explore.ts'

const endpoint = 'https://a.exemplo.br/x'
const notFound = { operation: 'deleteSubscription', httpStatus: 404, code: 'ASSINATURA' }

/**
 * A delivery of the portal, hours that pass, our reading of the portal's list or its failure records, a deletion by
 * somebody else, or ours: it is answered, or its request or its answer is lost.
 */
const step = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom('delivered', 'deliveryFailed', 'deliveryFailed') },
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 720 }) },
  { weight: 3, arbitrary: fc.constantFrom('list', 'failures') },
  { weight: 1, arbitrary: fc.constant('foreignDelete') },
  { weight: 1, arbitrary: fc.constantFrom('answered', 'requestLost', 'answerLost') },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never

/** The portal's and the engine's state machines, and their communication. */
class Pair {
  life: SubscriptionLife = beginLife(0)
  state: MachineState = subscriptionMachine.initial
  readonly events: Event[] = []
  #now = 0
  #failures: { remoteId: number; at: number }[] = []

  constructor() {
    this.#tell({ type: 'subscription.declare', data: { subscription: 'a', evento: 'e', endpoint } })
    this.#tell({ type: 'subscription.register', data: { endpoint } })
    this.#tell({ type: 'portal.subscribed', data: { remoteId: 7, endpoint, generation: 1 } })
  }

  get isDeletedHere(): boolean {
    return statePaths(this.state.value).some(path => path.startsWith('registration.deleted'))
  }

  /** The deletions as recorded by the engine. */
  get deletions(): { by: string; deletedAt: string | null }[] {
    return this.events.filter(event => event.type === 'subscription.deleted').map(({ data }) => Object(data))
  }

  take(step: Step): void {
    if (typeof step === 'number') this.#now += (step * dayMs) / 24
    else if (step === 'delivered') this.#happen('delivered')
    else if (step === 'deliveryFailed') this.#fail()
    else if (step === 'foreignDelete') this.#happen('deleteRequested')
    else if (step === 'list') this.list()
    else if (step === 'failures') this.#readFailures()
    else this.#delete(step)
  }

  /** The state at the portal now. */
  look(): SubscriptionLife {
    this.#happen('timePassed')
    return this.life
  }

  list(): void {
    const { state, deletedAt, lastSuccessAt } = this.look()
    const instant = (ms: number | undefined) => (ms === undefined ? null : toInstant(ms))
    const times = { deletedAt: instant(deletedAt), lastSuccessAt: instant(lastSuccessAt) }
    const seen = { remoteId: 7, evento: 'e', endpoint, generation: 1, readAt: toInstant(this.#now) }
    const data = { ...seen, isDeleted: state === 'deleted', ...times }
    this.#tell({ type: 'subscription.observe', data })
  }

  /** The portal does not deliver to a deleted subscription, so it has no failures. */
  #fail(): void {
    if (this.look().state === 'deleted') return
    this.#failures.push({ remoteId: 100 + this.#failures.length, at: this.#now })
    this.#happen('deliveryFailed')
  }

  #readFailures(): void {
    for (const { remoteId, at } of this.#failures) {
      const data = { failure: `f${remoteId}`, remoteId, failedAt: toInstant(at), evento: 'e' }
      this.#tell({ type: 'subscription.observeFailure', data })
    }
  }

  #delete(how: 'answered' | 'requestLost' | 'answerLost'): void {
    if (!this.#tell({ type: 'subscription.delete', data: {} })) return
    const isThere = this.look().state === 'active'
    if (how !== 'requestLost') this.#happen('deleteRequested')
    if (how !== 'answered') this.#tell({ type: 'portal.lost', data: { operation: 'deleteSubscription' } })
    else if (isThere) this.#tell({ type: 'portal.subscriptionDeleted', data: {} })
    else this.#tell({ type: 'portal.declined', data: notFound })
  }

  #happen(type: LifeInput['type']): void {
    this.life = applyLifeInput(this.life, { type, at: this.#now })
  }

  /** Sends a message to the engine's machine. Returns false when it refuses. */
  #tell(message: Message): boolean {
    const decision = subscriptionMachine.decide(this.state, message)
    if ('refused' in decision) return false
    for (const event of decision.events) this.state = subscriptionMachine.evolve(this.state, event)
    this.events.push(...decision.events)
    return true
  }
}

test('a deletion at the portal is recorded once it is listed, by the right side, and not earlier', () => {
  const reached = { automatic: 0, foreign: 0, ours: 0, active: 0 }
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), given => {
      const pair = new Pair()
      for (const step of given) {
        pair.take(step)
        if (pair.isDeletedHere) expect(pair.look().state).toBe('deleted')
      }
      // The first reading may only end a call whose answer was lost.
      const { state, reason, deletedAt } = pair.look()
      const asked = pair.events.some(event => event.type === 'subscription.deletionRequested')
      pair.list()
      expect(pair.isDeletedHere).toBe(state === 'deleted')
      expect(pair.deletions).toHaveLength(state === 'deleted' ? 1 : 0)
      if (state === 'active') {
        reached.active += 1
        return
      }
      const { by, deletedAt: recorded } = pair.deletions[0] ?? { by: '', deletedAt: null }
      if (!asked) expect(by).toBe('portal')
      // The answer to our own call has no time, but the list always has one.
      if (recorded !== null) expect(recorded).toBe(toInstant(deletedAt ?? 0))
      else expect(by).toBe('us')
      // Without another possible cause, we deleted it.
      if (!given.includes('foreignDelete') && reason === undefined) expect(by).toBe('us')
      if (reason !== undefined && !asked) reached.automatic += 1
      else if (by === 'us') reached.ours += 1
      else reached.foreign += 1
    }),
    { numRuns: 2_000 },
  )
  // The sequences must cover all cases.
  for (const [name, count] of Object.entries(reached)) expect(count, name).toBeGreaterThan(20)
})

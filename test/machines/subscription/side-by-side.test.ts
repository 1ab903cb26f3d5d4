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

const endpoint = 'https://a.exemplo.br/x'

type Step =
  /** A delivery of the portal succeeds or fails. */
  | { readonly at: 'delivered' | 'deliveryFailed' }
  /** Hours pass. */
  | { readonly at: 'pass'; readonly hours: number }
  /** We read the portal's list, or its failure records. */
  | { readonly at: 'list' | 'failures' }
  /** Somebody else deletes it in the portal. */
  | { readonly at: 'foreignDelete' }
  /** We delete it. The request or its answer may be lost. */
  | { readonly at: 'delete'; readonly how: 'answered' | 'requestLost' | 'answerLost' }

const steps = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ at: fc.constantFrom('delivered', 'deliveryFailed', 'deliveryFailed') }),
    },
    { weight: 4, arbitrary: fc.record({ at: fc.constant('pass'), hours: fc.integer({ min: 0, max: 720 }) }) },
    { weight: 3, arbitrary: fc.record({ at: fc.constantFrom('list', 'failures') }) },
    { weight: 1, arbitrary: fc.constant({ at: 'foreignDelete' }) },
    {
      weight: 1,
      arbitrary: fc.record({
        at: fc.constant('delete'),
        how: fc.constantFrom('answered', 'requestLost', 'answerLost'),
      }),
    },
  ),
  { maxLength: 40 },
) as fc.Arbitrary<Step[]> // The records above are these steps, member by member.

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
    const { registration } = this.state.value as { registration: string | object } // As the chart has it.
    return typeof registration === 'object' && 'deleted' in registration
  }

  /** The deletion as recorded by the engine. */
  get deletion(): { by: string; deletedAt: string | null } {
    const data = this.events.find(event => event.type === 'subscription.deleted')?.data
    return data as { by: string; deletedAt: string | null } // As the machine writes it.
  }

  take(step: Step): void {
    if (step.at === 'pass') this.#now += (step.hours * dayMs) / 24
    if (step.at === 'delivered') this.#happen('delivered')
    if (step.at === 'deliveryFailed') this.#fail()
    if (step.at === 'foreignDelete') this.#happen('deleteRequested')
    if (step.at === 'list') this.list()
    if (step.at === 'failures') this.#readFailures()
    if (step.at === 'delete') this.#delete(step.how)
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
    else {
      const data = { operation: 'deleteSubscription', httpStatus: 404, code: 'ASSINATURA' }
      this.#tell({ type: 'portal.declined', data })
    }
  }

  #happen(type: LifeInput['type']): void {
    this.life = applyLifeInput(this.life, { type, at: this.#now })
  }

  /** Sends a message to the engine's machine. Returns false when it refuses. */
  #tell(message: Message): boolean {
    const decision = subscriptionMachine.decide(this.state, message)
    if ('refused' in decision) return false
    for (const event of decision.events) {
      this.state = subscriptionMachine.evolve(this.state, event)
      this.events.push(event)
    }
    return true
  }
}

test('a deletion at the portal is recorded once it is listed, by the right side, and not earlier', () => {
  const reached = { automatic: 0, foreign: 0, ours: 0, active: 0 }
  fc.assert(
    fc.property(steps, given => {
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
      expect(pair.events.filter(event => event.type === 'subscription.deleted').length).toBeLessThanOrEqual(1)
      if (state === 'active') {
        reached.active += 1
        return
      }
      const { by, deletedAt: recorded } = pair.deletion
      if (!asked) expect(by).toBe('portal')
      // The answer to our own call has no time, but the list always has one.
      if (recorded !== null) expect(recorded).toBe(toInstant(deletedAt ?? 0))
      else expect(by).toBe('us')
      // Without another possible cause, we deleted it.
      const foreign = given.some(step => step.at === 'foreignDelete')
      if (!foreign && reason === undefined) expect(by).toBe('us')
      if (reason !== undefined && !asked) reached.automatic += 1
      else if (by === 'us') reached.ours += 1
      else reached.foreign += 1
    }),
    { numRuns: 2_000 },
  )
  // The sequences must cover all cases.
  for (const [name, count] of Object.entries(reached)) expect(count, name).toBeGreaterThan(20)
})

test('after 29 days of errors both sides are active, after 30 both are deleted', () => {
  const pair = new Pair()
  pair.take({ at: 'deliveryFailed' })
  pair.take({ at: 'pass', hours: 29 * 24 })
  pair.take({ at: 'failures' })
  pair.take({ at: 'list' })
  const failing = { registration: { registered: 'active' }, health: 'failing' }
  expect([pair.life.state, pair.state.value]).toMatchObject(['active', failing])
  pair.take({ at: 'pass', hours: 24 })
  expect([pair.look().state, pair.state.value]).toMatchObject(['deleted', failing])
  pair.take({ at: 'list' })
  expect(pair.state.value).toMatchObject({ registration: { deleted: 'byPortal' } })
  expect(pair.deletion).toEqual({ by: 'portal', deletedAt: toInstant(30 * dayMs) })
})

import { expect, test } from 'vitest'
import { subscriptionMachine } from '../../../src/machines/subscription/subscription.ts'
import { answerOf } from '../../../src/simulation/index.ts'
import type { Message } from '../../../src/vocabulary/message.ts'

const endpoint = 'https://a.exemplo.br/x'
const declare: Message = { type: 'subscription.declare', data: { subscription: 'a', evento: 'e', endpoint } }
const register: Message = { type: 'subscription.register', data: { endpoint } }
const subscribed: Message = { type: 'portal.subscribed', data: { remoteId: 7, endpoint, generation: 1 } }
const observe = (change: object = {}): Message => ({
  type: 'subscription.observe',
  data: {
    remoteId: 7,
    evento: 'e',
    endpoint,
    generation: 1,
    isDeleted: false,
    deletedAt: null,
    lastSuccessAt: null,
    readAt: '2026-11-22T12:00:00.000Z',
    ...change,
  },
})
const failure = (remoteId: number): Message => ({
  type: 'subscription.observeFailure',
  data: { failure: `f${remoteId}`, remoteId, failedAt: '2026-11-21T12:00:00.000Z', evento: 'e' },
})

const declined = (operation: string): Message => ({
  type: 'portal.declined',
  data: { operation, httpStatus: 422, code: null },
})
const lost = (operation: string): Message => ({ type: 'portal.lost', data: { operation } })
const miss: Message = { type: 'subscription.miss', data: {} }
const active = [declare, register, subscribed]

const after = (...messages: Message[]) => answerOf('subscription', ...messages)

test('an active subscription is not registered again', () => {
  expect(after(declare, register, subscribed, register)).toHaveProperty('refused')
})

test('a deletion that we did not request is by the portal', () => {
  const deleted = observe({ isDeleted: true, deletedAt: '2026-12-20T12:00:00.000Z' })
  expect(after(declare, register, subscribed, deleted)).toMatchObject({
    events: [{ type: 'subscription.deleted', data: { by: 'portal', deletedAt: '2026-12-20T12:00:00.000Z' } }],
  })
})

test('a deletion that we requested is by us, even without an answer', () => {
  const asked = [declare, register, subscribed, { type: 'subscription.delete', data: {} }]
  expect(after(...asked, observe({ isDeleted: true }))).toMatchObject({ events: [{ data: { by: 'us' } }] })
})

test('a subscription that is no longer listed is recorded as deleted, with an anomaly', () => {
  const decision = after(...active, miss)
  expect(decision).toMatchObject({ events: [{ type: 'subscription.deleted', anomaly: expect.any(String) }] })
})

test.each([
  ['missing from one list', [miss]],
  ['shown as deleted', [observe({ isDeleted: true })]],
  ['missing, and declined when registered again', [miss, register, declined('subscribe')]],
])('a subscription that was %s and is listed again is active, with an anomaly', (_, gone) => {
  const before = [...active, failure(70), ...gone]
  const again = observe({ readAt: '2026-12-06T12:00:00.000Z' })
  expect(after(...before, again)).toMatchObject({
    events: [{ type: 'subscription.reappeared', data: { remoteId: 7 }, anomaly: expect.any(String) }],
  })
  expect(after(...before, again, register)).toHaveProperty('refused')
  // The thirty days continued meanwhile.
  expect(after(...before, again, again)).toMatchObject({
    events: [{ type: 'subscription.threatened', data: { percent: 50 } }],
  })
  expect(after(...before, observe({ isDeleted: true }))).toEqual({ events: [] })
})

test('a former registration that is listed again beside a new one is recorded once, without effect', () => {
  const next = { type: 'portal.subscribed', data: { remoteId: 1_002, endpoint, generation: 1 } }
  const second = [...active, miss, register, next]
  expect(after(...second, observe())).toMatchObject({
    events: [{ type: 'subscription.reappeared', anomaly: expect.any(String) }],
  })
  expect(after(...second, observe(), observe())).toEqual({ events: [] })
  expect(after(...second, observe(), observe({ remoteId: 1_002, generation: null }))).toMatchObject({
    events: [{ type: 'subscription.drifted' }],
  })
})

test('a success after the last failure is a recovery', () => {
  const failing = [declare, register, subscribed, failure(70)]
  expect(after(...failing, observe({ lastSuccessAt: '2026-11-20T12:00:00.000Z' }))).toEqual({ events: [] })
  expect(after(...failing, observe({ lastSuccessAt: '2026-11-22T12:00:00.000Z' }))).toMatchObject({
    events: [{ type: 'subscription.recovered' }],
  })
})

test('a success with another event is no recovery', () => {
  const success = { lastSuccessAt: '2026-11-22T12:00:00.000Z' }
  expect(after(...active, failure(70), observe({ evento: 'outro', ...success }))).toMatchObject({
    events: [{ type: 'subscription.drifted' }],
  })
})

test('a registration whose answer was lost is refused until a list shows the outcome', () => {
  const uncertain = [declare, register, lost('subscribe')]
  expect(after(...uncertain, register)).toHaveProperty('refused')
  expect(after(...uncertain, miss)).toMatchObject({
    events: [{ type: 'subscription.declined', resolves: { as: 'declined' } }],
  })
  expect(after(...uncertain, { ...observe(), type: 'subscription.adopt' })).toMatchObject({
    events: [{ type: 'subscription.registered', data: { how: 'adopted' }, resolves: { as: 'settled' } }],
  })
})

test('another event, endpoint or secret at the portal is a drift', () => {
  expect(after(...active, observe())).toEqual({ events: [] })
  const other = observe({ evento: 'outro' })
  expect(after(...active, other)).toMatchObject({
    events: [{ type: 'subscription.drifted', data: { evento: 'outro', endpoint, areSecretsOurs: true } }],
  })
  expect(after(...active, other, other)).toEqual({ events: [] })
  expect(after(...active, observe({ generation: null }))).toMatchObject({
    events: [{ type: 'subscription.drifted' }],
  })
})

test('a list ends a deletion or a change whose answer was lost', () => {
  const deleting = [...active, { type: 'subscription.delete', data: {} }, lost('deleteSubscription')]
  expect(after(...deleting, observe({ isDeleted: true }))).toMatchObject({
    events: [{ type: 'subscription.deleted', data: { by: 'us' }, resolves: { as: 'settled' } }],
  })
  expect(after(...deleting, observe())).toMatchObject({
    events: [{ type: 'subscription.confirmed', resolves: { effect: 'portal.deleteSubscription', as: 'declined' } }],
  })
  const asked = 'https://b.exemplo.br/x'
  const change = { type: 'subscription.change', data: { endpoint: asked } }
  const changing = [...active, change, lost('changeSubscription')]
  expect(after(...changing, observe({ endpoint: asked }))).toMatchObject({
    events: [{ type: 'subscription.changed', data: { endpoint: asked }, resolves: { as: 'settled' } }],
  })
  const confirmed = { type: 'subscription.confirmed', resolves: { as: 'declined' } }
  expect(after(...changing, observe())).toMatchObject({ events: [confirmed] })
  expect(after(...changing, observe({ endpoint: asked, evento: 'outro' }))).toMatchObject({
    events: [confirmed, { type: 'subscription.drifted' }],
  })
})

test('a lost call is resolved at once if a list already showed the outcome', () => {
  const adopt = { ...observe(), type: 'subscription.adopt' }
  expect(after(declare, register, adopt, lost('subscribe'))).toEqual({
    events: [
      {
        type: 'subscription.lost',
        data: { operation: 'subscribe' },
        resolves: { effect: 'portal.subscribe', as: 'settled' },
      },
    ],
  })
  const deleting = [...active, { type: 'subscription.delete', data: {} }]
  const isDeleted = observe({ isDeleted: true, deletedAt: '2026-11-20T12:00:00.000Z' })
  expect(after(...deleting, isDeleted, lost('deleteSubscription'))).toMatchObject({
    events: [{ resolves: { effect: 'portal.deleteSubscription', as: 'settled' } }],
  })
  const changing = [...active, { type: 'subscription.change', data: { endpoint } }]
  expect(after(...changing, isDeleted, lost('changeSubscription'))).toMatchObject({
    events: [{ resolves: { effect: 'portal.changeSubscription', as: 'declined' } }],
  })
})

test('an uncertain call ends when its subscription is deleted', () => {
  const isDeleted = observe({ isDeleted: true, deletedAt: '2026-11-20T12:00:00.000Z' })
  const changing = [...active, { type: 'subscription.change', data: { endpoint } }, lost('changeSubscription')]
  const deleting = [...active, { type: 'subscription.delete', data: {} }, lost('deleteSubscription')]
  for (const gone of [isDeleted, miss]) {
    expect(after(...changing, gone)).toMatchObject({
      events: [{ type: 'subscription.deleted', resolves: { effect: 'portal.changeSubscription', as: 'declined' } }],
    })
    expect(after(...deleting, gone)).toMatchObject({
      events: [{ type: 'subscription.deleted', resolves: { effect: 'portal.deleteSubscription', as: 'settled' } }],
    })
  }
})

test('a late answer for a former registration ends its call and does not affect the new one', () => {
  const isDeleted = observe({ isDeleted: true, deletedAt: '2026-11-20T12:00:00.000Z' })
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  const next = { type: 'portal.subscribed', data: { remoteId: 1_002, endpoint, generation: 1 } }
  const told = (type: string, data: object) => ({
    type: `portal.${type}`,
    data: { remoteId: 7, ...data },
  })
  const operation = 'changeSubscription'
  // A change was pending when the portal deleted the first registration. The second has its own change.
  const again = [...active, rotate, isDeleted, register, next, rotate]
  const itsOwn = { type: 'portal.lost', data: { operation, remoteId: 1_002 } }
  const isDone = observe({ remoteId: 1_002, generation: 2 })
  const late = { type: 'subscription.answeredLate', data: { operation, remoteId: 7 } }
  for (const [fact, event] of [
    [told('lost', { operation }), { resolves: { effect: 'portal.changeSubscription', as: 'declined' } }],
    [told('declined', { operation, httpStatus: 404, code: null }), late],
    [told('subscriptionChanged', { endpoint, generation: 2 }), late],
    [told('subscriptionDeleted', {}), { ...late, data: { operation: 'deleteSubscription', remoteId: 7 } }],
  ] as const) {
    const answer = after(...again, fact)
    expect(answer).toMatchObject({ events: [event] })
    expect(answer).not.toHaveProperty('events.0.effects')
    // Its own answer still ends its own change.
    expect(after(...again, fact, itsOwn, isDone)).toMatchObject({
      events: [{ type: 'subscription.changed', resolves: { effect: 'portal.changeSubscription', as: 'settled' } }],
    })
  }
  // A pending registration has no id yet; the late answer does not restart it.
  const declined = told('declined', { operation: 'deleteSubscription', httpStatus: 404, code: null })
  expect(after(...active, rotate, isDeleted, register, declined, register)).toHaveProperty('refused')
})

test.each([
  ['a change', { type: 'subscription.rotate', data: { endpoint } }],
  ['a deletion', { type: 'subscription.delete', data: {} }],
])('while %s is pending, threats, recoveries and drifts are recorded', (_, asks) => {
  const waiting = [...active, failure(70), asks]
  const half = observe({ readAt: '2026-12-06T12:00:00.000Z' })
  expect(after(...waiting, half)).toMatchObject({
    events: [{ type: 'subscription.threatened', data: { percent: 50 } }],
  })
  expect(after(...waiting, half, half)).toEqual({ events: [] })
  const recovered = observe({ lastSuccessAt: '2026-11-22T12:00:00.000Z' })
  expect(after(...waiting, recovered)).toMatchObject({ events: [{ type: 'subscription.recovered' }] })
  expect(after(...waiting, recovered, half)).toEqual({ events: [] })
  expect(after(...waiting, observe({ evento: 'outro' }))).toMatchObject({
    events: [{ type: 'subscription.drifted', data: { evento: 'outro' } }],
  })
})

test('a pending change in a list is no drift', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  expect(after(...active, rotate, observe({ generation: 2 }))).toEqual({ events: [] })
})

test('one reading ends a lost call and records the recovery', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  const uncertain = [...active, failure(70), rotate, lost('changeSubscription')]
  expect(after(...uncertain, observe({ lastSuccessAt: '2026-11-22T12:00:00.000Z' }))).toMatchObject({
    events: [{ type: 'subscription.confirmed' }, { type: 'subscription.recovered' }],
  })
})

test('a rotation requests only the next generation, and only for an unchanged active subscription', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  expect(after(declare, rotate)).toHaveProperty('refused')
  for (const other of [{ endpoint: 'https://b.exemplo.br/x' }, { evento: 'outro' }])
    expect(after(...active, observe(other), rotate)).toHaveProperty('refused')
  expect(after(...active, rotate)).toMatchObject({
    events: [
      {
        type: 'subscription.rotationRequested',
        data: { endpoint, generation: 2 },
        effects: [{ type: 'portal.changeSubscription', data: { endpoint, generation: 2 } }],
      },
    ],
  })
})

test('after a declined rotation, the next one requests the same generation', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  const data = { operation: 'changeSubscription', httpStatus: 422, code: null }
  const declined = { type: 'portal.declined', data }
  expect(after(declare, register, subscribed, rotate, declined, rotate)).toMatchObject({
    events: [{ data: { generation: 2 } }],
  })
})

test('a threat is announced once for each percentage of the thirty days', () => {
  const failing = [declare, register, subscribed, failure(70)]
  const at = (readAt: string) => observe({ readAt })
  const half = at('2026-12-06T12:00:00.000Z')
  expect(after(...failing, at('2026-12-06T11:59:59.000Z'))).toEqual({ events: [] })
  expect(after(...failing, half)).toMatchObject({
    events: [{ type: 'subscription.threatened', data: { percent: 50, daysLeft: 15 } }],
  })
  expect(after(...failing, half, half)).toEqual({ events: [] })
  expect(after(...failing, half, at('2026-12-18T12:00:00.000Z'))).toMatchObject({
    events: [{ data: { percent: 90, daysLeft: 3, deletionAt: '2026-12-21T12:00:00.000Z' } }],
  })
})

test('a late answer for a former registration makes no list stale', () => {
  const late = { type: 'subscription.answeredLate', data: { operation: 'deleteSubscription', remoteId: 7 } }
  expect(subscriptionMachine.isSilent(late)).toBe(true)
})

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

test('a deletion that we did not ask for is the portal’s', () => {
  const deleted = observe({ isDeleted: true, deletedAt: '2026-12-20T12:00:00.000Z' })
  expect(after(declare, register, subscribed, deleted)).toMatchObject({
    events: [{ type: 'subscription.deleted', data: { by: 'portal', deletedAt: '2026-12-20T12:00:00.000Z' } }],
  })
})

test('a deletion that we asked for is ours, also when its answer was lost', () => {
  const asked = [declare, register, subscribed, { type: 'subscription.delete', data: {} }]
  expect(after(...asked, observe({ isDeleted: true }))).toMatchObject({ events: [{ data: { by: 'us' } }] })
})

test('a subscription that the portal no longer lists at all is deleted, as an anomaly', () => {
  const decision = after(...active, miss)
  expect(decision).toMatchObject({ events: [{ type: 'subscription.deleted', anomaly: expect.any(String) }] })
})

test.each([
  ['left out of one list', [miss]],
  ['shown as deleted', [observe({ isDeleted: true })]],
  ['left out, and declined when it was asked for again', [miss, register, declined('subscribe')]],
])('one that was %s and is listed again is active again, as an anomaly', (_, gone) => {
  const before = [...active, failure(70), ...gone]
  const again = observe({ readAt: '2026-12-06T12:00:00.000Z' })
  expect(after(...before, again)).toMatchObject({
    events: [{ type: 'subscription.reappeared', data: { remoteId: 7 }, anomaly: expect.any(String) }],
  })
  expect(after(...before, again, register)).toHaveProperty('refused')
  // The thirty days went on meanwhile.
  expect(after(...before, again, again)).toMatchObject({
    events: [{ type: 'subscription.threatened', data: { percent: 50 } }],
  })
  expect(after(...before, observe({ isDeleted: true }))).toEqual({ events: [] })
})

test('one that is listed again when another one has come is told once, and changes nothing', () => {
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

test('a success with another event says nothing of ours', () => {
  const success = { lastSuccessAt: '2026-11-22T12:00:00.000Z' }
  expect(after(...active, failure(70), observe({ evento: 'outro', ...success }))).toMatchObject({
    events: [{ type: 'subscription.drifted' }],
  })
})

test('a registration whose answer was lost is listed before anything else', () => {
  const uncertain = [declare, register, lost('subscribe')]
  expect(after(...uncertain, register)).toHaveProperty('refused')
  expect(after(...uncertain, miss)).toMatchObject({
    events: [{ type: 'subscription.declined', resolves: { as: 'declined' } }],
  })
  expect(after(...uncertain, { ...observe(), type: 'subscription.adopt' })).toMatchObject({
    events: [{ type: 'subscription.registered', data: { how: 'adopted' }, resolves: { as: 'settled' } }],
  })
})

test('another event, another endpoint or other secrets at the portal are a drift', () => {
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

test('a deletion or a change whose answer was lost is ended by what the list shows', () => {
  const deleting = [...active, { type: 'subscription.delete', data: {} }, lost('deleteSubscription')]
  expect(after(...deleting, observe({ isDeleted: true }))).toMatchObject({
    events: [{ type: 'subscription.deleted', data: { by: 'us' }, resolves: { as: 'settled' } }],
  })
  expect(after(...deleting, observe())).toMatchObject({
    events: [
      { type: 'subscription.confirmed', resolves: { effect: 'portal.deleteSubscription', as: 'declined' } },
    ],
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

test('a call that is lost after a list has told what became of it leaves no doubt', () => {
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

test('a call that is in doubt ends when its subscription is gone', () => {
  const isDeleted = observe({ isDeleted: true, deletedAt: '2026-11-20T12:00:00.000Z' })
  const changing = [
    ...active,
    { type: 'subscription.change', data: { endpoint } },
    lost('changeSubscription'),
  ]
  const deleting = [...active, { type: 'subscription.delete', data: {} }, lost('deleteSubscription')]
  for (const gone of [isDeleted, miss]) {
    expect(after(...changing, gone)).toMatchObject({
      events: [
        { type: 'subscription.deleted', resolves: { effect: 'portal.changeSubscription', as: 'declined' } },
      ],
    })
    expect(after(...deleting, gone)).toMatchObject({
      events: [
        { type: 'subscription.deleted', resolves: { effect: 'portal.deleteSubscription', as: 'settled' } },
      ],
    })
  }
})

test('what is told of a registration that is gone moves nothing of the next, and ends the call that it is about', () => {
  const isDeleted = observe({ isDeleted: true, deletedAt: '2026-11-20T12:00:00.000Z' })
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  const next = { type: 'portal.subscribed', data: { remoteId: 1_002, endpoint, generation: 1 } }
  const told = (type: string, data: object) => ({
    type: `portal.${type}`,
    data: { remoteId: 7, ...data },
  })
  const operation = 'changeSubscription'
  // A change was owed as the portal deleted the first; the second has one of its own.
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
    // Its own answer finds it where it was.
    expect(after(...again, fact, itsOwn, isDone)).toMatchObject({
      events: [
        { type: 'subscription.changed', resolves: { effect: 'portal.changeSubscription', as: 'settled' } },
      ],
    })
  }
  // A registration under way has no id yet: it does not begin anew.
  const declined = told('declined', { operation: 'deleteSubscription', httpStatus: 404, code: null })
  expect(after(...active, rotate, isDeleted, register, declined, register)).toHaveProperty('refused')
})

test.each([
  ['a change', { type: 'subscription.rotate', data: { endpoint } }],
  ['a deletion', { type: 'subscription.delete', data: {} }],
])('while %s waits, threats, recoveries and drifts are told as ever', (_, asks) => {
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

test('what a change asks for is no drift before its answer is there', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  expect(after(...active, rotate, observe({ generation: 2 }))).toEqual({ events: [] })
})

test('one reading ends a call whose answer was lost, and tells the health as well', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  const uncertain = [...active, failure(70), rotate, lost('changeSubscription')]
  expect(after(...uncertain, observe({ lastSuccessAt: '2026-11-22T12:00:00.000Z' }))).toMatchObject({
    events: [{ type: 'subscription.confirmed' }, { type: 'subscription.recovered' }],
  })
})

test('a rotation asks for the next generation and nothing else, and only of an active one', () => {
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

test('a rotation that was declined leaves the generation as it was, and asks for the same one again', () => {
  const rotate = { type: 'subscription.rotate', data: { endpoint } }
  const data = { operation: 'changeSubscription', httpStatus: 422, code: null }
  const declined = { type: 'portal.declined', data }
  expect(after(declare, register, subscribed, rotate, declined, rotate)).toMatchObject({
    events: [{ data: { generation: 2 } }],
  })
})

test('a threat is announced once for each share of the thirty days, in the order of time', () => {
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

test('an answer about a registration that is gone makes no list older', () => {
  const late = { type: 'subscription.answeredLate', data: { operation: 'deleteSubscription', remoteId: 7 } }
  expect(subscriptionMachine.isSilent(late)).toBe(true)
})

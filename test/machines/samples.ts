import { budgetMachine } from '../../src/machines/budget.ts'
import { certificateMachine } from '../../src/machines/certificate.ts'
import { consentMachine } from '../../src/machines/consent/consent.ts'
import type { Machine } from '../../src/machines/definition/machine.ts'
import { effectMachine } from '../../src/machines/effect.ts'
import { followerMachine } from '../../src/machines/follower.ts'
import { notificationMachine } from '../../src/machines/notification.ts'
import { portalMachine } from '../../src/machines/portal.ts'
import { retentionMachine } from '../../src/machines/retention.ts'
import { revealMachine } from '../../src/machines/reveal.ts'
import { subjectMachine } from '../../src/machines/subject/subject.ts'
import { subscriptionMachine } from '../../src/machines/subscription/subscription.ts'
import { tokenMachine } from '../../src/machines/token.ts'
import { validationMachine } from '../../src/machines/validation.ts'
import type { Json, MessageWithParts } from '../../src/vocabulary/message.ts'

/**
 * A machine with messages that, in some order, lead to each of its states. With `more` messages, and from the ends of
 * `walks` as well, they lead to each transition.
 */
export interface Sample {
  readonly machine: Machine
  readonly messages: readonly MessageWithParts[]
  readonly more?: readonly MessageWithParts[]
  readonly walks?: readonly (readonly MessageWithParts[])[]
}

/** A message of this type with each of these data. */
const of = (type: string, ...all: Json[]) => all.map(data => ({ type, data }))
/** A message of each of these types, with the same data. */
const each = (types: readonly string[], data: Json = {}) => types.map(type => ({ type, data }))

const [now, nextDay] = ['2026-11-20T12:00:00.000Z', '2026-11-21T12:00:00.000Z']
const times = { createdAt: now, expiresAt: '2027-11-20T12:00:00.000Z' }
const reading = (status: string) => ({ status, ...times, controller: '12ABC34501DE35' })
const entryOf = (status: string | null, i: number) => ({ status, since: `2026-11-20T1${i}:00:00.000Z` })
const shown = (status: string) => ({
  type: 'consent.observe',
  data: { ...reading(status), consent: 'c', subject: 's' },
})
const answered = (status: string, asked = {}) => ({
  ...{ type: 'consentService.statusChanged', data: { ...reading(status), ...asked } },
})
const inFull = (history: (string | null)[], asked = {}, status = history.at(-1) ?? 'ATIVO') => ({
  type: 'consentService.consentRead',
  data: { ...reading(status), history: history.map(entryOf), ...asked },
})
const missed = { type: 'consent.miss', data: {} }
const statuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO']
const askedAt = '2026-11-20T15:00:00.000Z'
const askedLater = { askedAt: '2026-11-20T18:00:00.000Z' }
const lost = { type: 'consentService.changeLost', data: { lostAt: askedAt } }
const histories = [
  ...['PENDENTE', 'PENDENTE ATIVO', 'PENDENTE NEGADO', 'PENDENTE EXPIRADO', 'PENDENTE NEGADO ATIVO'],
  ...['PENDENTE EXPIRADO PENDENTE', 'PENDENTE ATIVO REVOGADO', 'PENDENTE ATIVO REVOGADO ATIVO'],
].map(statuses => statuses.split(' '))
const listed = {
  ...{ remoteId: 7, evento: 'e', endpoint: 'https://a.exemplo.br/x', generation: 1, isDeleted: false, deletedAt: null },
  ...{ lastSuccessAt: '2026-11-22T12:00:00.000Z', readAt: '2026-11-22T12:00:00.000Z' },
}
const observed = (change: object) => ({ type: 'subscription.observe', data: { ...listed, ...change } })
const failure = { failure: 'f1', remoteId: 70, failedAt: nextDay, evento: 'e' }
const declared = { type: 'subscription.declare', data: { subscription: 'a', evento: 'e', endpoint: listed.endpoint } }
const adopted = { type: 'subscription.adopt', data: { ...listed, lastSuccessAt: now } }
const failed = (failedAt: string) => ({ type: 'subscription.observeFailure', data: { ...failure, failedAt } })

const tokenRequest = (need: string, contract: string, credential: string, askedAt: string) => ({
  ...{ type: 'token.request', data: { need, contract, credential, askedAt } },
})
const unserved = { generation: 1, hasServed: false }

const byPolicy = { reason: 'no answer in time', policy: 'day-1', elapsedMs: 9_000 }
const call = { effect: 'subject-s/2/0', type: 'consentService.listConsents' }

const erasure = {
  ...{ requester: 'r', legalBasis: 'LGPD art. 18, VI', subject: 's', keeps: [], effects: ['subject-s/2/0'] },
  ...{ kept: [], parts: 1, list: 'l', indexRows: 1, endsGivenUp: 0, endings: ['e'] },
}
const ofTwo = (handler: string) => ({ handler, handlers: ['a', 'b'] })
const thrown = { reason: 'RangeError' }
const asked = { validation: 'v', id: 'pedido', subject: 's' }
const loggedOut = { isAuthenticated: false, expiresAt: null }
const hourly = { everyMs: 3_600_000, dueAt: nextDay }
const seen = { record: 'a1', createdAt: null, controller: null }
const answer = { evaluated: 3, environment: 'e' }
const reused = { claims: 'w/1/claims', result: 'w/2/result' }
const revoked = { reason: 'revoked', at: now, position: 9 }
const unchanged = { read: 1, changed: 0, unreadable: 0 }
const completed = {
  ...{ epoch: 2, previous: [1], rewrapped: 1, searchedBytes: 4_096, searchedFor: 1, found: 0, unsearched: 0 },
  copiesOpenUntil: nextDay,
}

export const samples: readonly Sample[] = [
  {
    machine: retentionMachine,
    messages: of('retention.apply', { kind: 'notification.body', rule: '30 days', parts: ['7/body'] }),
  },
  {
    machine: revealMachine,
    messages: of('reveal.record', { parts: ['subject-s/1/cpf'], owners: ['subject-s'], purpose: 'atendimento' }),
  },
  {
    machine: followerMachine,
    messages: [
      ...each(['follower.retry', 'follower.skip'], { follower: 'crm', position: 3, reason: 'Error' }),
      { type: 'follower.remove', data: { follower: 'crm', position: 3, reason: '' } },
    ],
  },
  {
    machine: budgetMachine,
    messages: of('budget.spend', { for: 'v', max: 0 }, { for: 'v', max: 1 }),
  },
  {
    machine: consentMachine,
    messages: [
      ...statuses.map(shown),
      ...each(['consent.approve', 'consent.deny']),
      ...each(['consent.deny', 'consent.approve', 'consent.revoke'], { sentBefore: true }),
      ...of('consent.revoke', {}, { isUnsent: true }, { sentBefore: true }),
      ...of('consent.withdrawEnd', {}, { isUnsent: true }, { sentBefore: true }),
      { type: 'consent.approve', data: { isUnsent: true } },
      ...each(['consent.readDetail', 'consent.miss', 'consent.erase']),
      ...of('consent.passTime', { now: '2027-11-20T11:59:59.999Z' }, { now: times.expiresAt }),
      ...['ATIVO', 'REVOGADO'].map(status => ({ ...shown(status), isStale: true })),
      { type: 'consent.observeUnreadable', data: {} },
      ...statuses.map(answered),
      ...['ATIVO', 'REVOGADO'].map(asked => answered('ATIVO', { asked, askedAt: now })),
      ...[['PENDENTE', 'ATIVO', 'REVOGADO'], ['PENDENTE', null, 'ATIVO'], []].map(each =>
        inFull(each, { askedAt: now }),
      ),
      { ...inFull([], {}, 'REVOGADO'), isStale: true },
      ...[null, 1].map(ageMaxMs => ({ type: 'consent.use', data: { at: nextDay, ageMaxMs, readAt: now } })),
      ...of('consent.withholdChange', { asked: 'ATIVO' }, { asked: 'REVOGADO', sentBefore: true }),
      { type: 'consentService.changeDeclined', data: { httpStatus: 400 } },
      { type: 'consentService.readDeclined', data: { httpStatus: 404 } },
      { type: 'consentService.readGivenUp', data: {} },
      { type: 'consentService.changeLost', data: { status: 'ATIVO', lostAt: now } },
      { type: 'consentService.changeDeclined', data: { httpStatus: 400, asked: 'REVOGADO' } },
    ],
    more: [
      ...['approve', 'deny', 'revoke'].map(verb => ({ type: `consent.${verb}`, data: { askedAt } })),
      lost,
      { type: 'consent.observe', data: { ...shown('ATIVO').data, expiresAt: null } },
      // By its times, each history is from before the request. Without `askedAt`, the reading may be as well.
      ...histories.flatMap(history => [inFull(history), inFull(history, askedLater)]),
      ...statuses.map(status => inFull([], askedLater, status)),
    ],
    walks: [
      // An approval that was requested before it vanished, and an end that a list showed before.
      [shown('PENDENTE'), { type: 'consent.approve', data: {} }, missed],
      [shown('ATIVO'), shown('REVOGADO'), missed],
      // An approval whose answer was lost, or showed another status.
      [shown('PENDENTE'), { type: 'consent.approve', data: { askedAt } }, lost],
      [shown('PENDENTE'), { type: 'consent.approve', data: { askedAt } }, answered('PENDENTE')],
    ],
  },
  {
    machine: certificateMachine,
    messages: [31, 30, 15, 14, 1, 0].map(daysLeft => ({
      ...{ type: 'certificate.observe', data: { service: 'consentService', daysLeft } },
    })),
  },
  {
    machine: effectMachine,
    messages: [
      { type: 'effect.attempt', data: { ...call, attempts: 1 } },
      { type: 'effect.park', data: { ...call, attempts: 3, reason: 'no answer in time' } },
      ...of('effect.defer', { ...call, ...byPolicy, attempts: 3, wait: 'backoff', dueAt: '2026-11-20T12:00:09.000Z' }),
      { type: 'effect.exhaust', data: { ...call, ...byPolicy, attempts: 200 } },
      ...each(['effect.retry', 'effect.withdraw'], call),
      { type: 'effect.misunderstand', data: { ...call, unread: { httpStatus: 502, form: 'html' } } },
    ],
  },
  {
    machine: tokenMachine,
    messages: [
      ...['absent', 'lost', 'rejected', 'repeated'].map(need => tokenRequest(need, 'c1', 'k1', now)),
      tokenRequest('lost', 'c2', 'k2', '2026-11-20T14:00:00.000Z'),
      tokenRequest('changed', 'c2', 'k2', now),
      tokenRequest('changed', 'c1', 'k3', now),
      ...of(
        'token.reject',
        { generation: 1, hasServed: true, at: now },
        { ...unserved, at: now },
        { generation: 2, hasServed: false, at: now },
        // By the clocks of other processes: long after the issue, a little before it, and long before it.
        ...['12:20', '11:55', '11:40'].map(time => ({ ...unserved, at: `2026-11-20T${time}:00.000Z` })),
        { ...unserved, at: now, code: '900907' },
      ),
      ...[1, 2].flatMap(generation => {
        const [asked, end] = [{ generation, contract: 'c1', credential: 'k1' }, '2026-11-20T13:00:00.000Z']
        return [
          { type: 'tokenService.issued', data: { ...asked, issuedAt: now, expiresAt: end } },
          { type: 'tokenService.repeated', data: { ...asked, issuedAt: now, until: end } },
          { type: 'tokenService.credentialsRefused', data: { ...asked, httpStatus: 401 } },
          { type: 'tokenService.requestLost', data: { generation } },
        ]
      }),
    ],
  },
  {
    machine: subscriptionMachine,
    messages: [
      declared,
      { type: 'subscription.register', data: { endpoint: listed.endpoint } },
      { type: 'subscription.change', data: { endpoint: 'https://b.exemplo.br/x' } },
      { type: 'subscription.rotate', data: { endpoint: listed.endpoint } },
      { type: 'subscription.delete', data: {} },
      adopted,
      observed({}),
      { type: 'subscription.takeOver', data: { ...listed, lastSuccessAt: null, generation: null } },
      ...[{ generation: null }, { generation: 2 }, { evento: 'outro' }].map(observed),
      // After three quarters of the thirty days without a success.
      observed({ lastSuccessAt: null, readAt: '2026-12-14T12:00:00.000Z', registeredAt: now }),
      observed({ isDeleted: true, deletedAt: nextDay }),
      { type: 'subscription.miss', data: {} },
      failed(nextDay),
      { type: 'subscription.recoverFailure', data: { failure: 'f1', evento: 'e', notification: 'n', how: 'stored' } },
      { type: 'portal.subscribed', data: { remoteId: 7, endpoint: listed.endpoint, generation: 1 } },
      { type: 'portal.subscriptionChanged', data: { endpoint: 'https://b.exemplo.br/x', generation: 1 } },
      ...of('portal.subscriptionDeleted', {}, { remoteId: 6 }),
      ...['subscribe', 'changeSubscription', 'deleteSubscription'].flatMap(operation => [
        { type: 'portal.declined', data: { operation, httpStatus: 422, code: null } },
        { type: 'portal.lost', data: { operation } },
      ]),
    ],
    walks: [
      // A former registration is listed beside another one, and a success between two failures.
      [declared, adopted, ...each(['subscription.miss']), { ...adopted, data: { ...adopted.data, remoteId: 8 } }],
      [declared, adopted, failed(nextDay), failed('2026-11-23T12:00:00.000Z')],
    ],
  },
  {
    machine: subjectMachine,
    messages: [
      { type: 'subject.enrol', data: { subject: 's', origin: 'host' } },
      { type: 'subject.refuseUse', data: { at: now } },
      ...of('subject.erase', erasure, { ...erasure, keeps: ['validation.result'], kept: ['4/result'] }),
      ...each(['subject.hold', 'subject.release'], { reason: 'processo 1' }),
      { type: 'keys.rotated', data: completed },
      { type: 'keys.epochsDestroyed', data: { epochs: [1] } },
      { type: 'subject.sync', data: {} },
      ...of('subject.schedule', hourly, { everyMs: 7_200_000, dueAt: nextDay, isDefault: true }),
      { type: 'subject.unschedule', data: { effects: ['subject-s/2/0'] } },
      ...of('consentService.consentsListed', { ...unchanged, again: { schedule: 1, dueAt: nextDay } }),
      { type: 'subject.readAwareness', data: {} },
      { type: 'subject.readAwarenessDetail', data: { record: 'a1' } },
      { type: 'subject.readLogin', data: {} },
      { type: 'subject.readLoginAddress', data: { hasRedirect: true } },
      ...of('subject.observeAwareness', seen, { ...seen, controller: '12ABC34501DE35' }),
      { type: 'consentService.consentsListed', data: { read: 1, changed: 1, unreadable: 0 } },
      { type: 'subject.missAwareness', data: { record: 'a1' } },
      { type: 'consentService.awarenessListed', data: { read: 1, unreadable: 0 } },
      { type: 'consentService.awarenessRead', data: { record: 'a1' } },
      ...of('consentService.loginRead', { ...loggedOut, isAuthenticated: true }, loggedOut),
      { type: 'consentService.loginAddressRead', data: {} },
      { type: 'consentService.readDeclined', data: { operation: 'readLogin', httpStatus: 401 } },
    ],
  },
  {
    machine: validationMachine,
    messages: [
      ...of('validation.request', asked, { ...asked, consent: 'c' }, { ...asked, environment: 'e' }),
      ...of('validation.reuse', { validation: 'v', id: 'p', subject: 's', from: 'q', ...reused }),
      { type: 'validation.erase', data: {} },
      { type: 'validation.resolve', data: { charged: true } },
      { type: 'validation.repeat', data: { by: 'outro' } },
      ...of('validationService.answered', answer, { ...answer, unreadable: ['cnh'] }),
      { type: 'validationService.declined', data: { httpStatus: 422, code: 'DV010' } },
      ...of('validation.withhold', revoked, { ...revoked, sentBefore: true }),
      ...each(['validationService.lost', 'validationService.undone']),
    ],
  },
  {
    machine: notificationMachine,
    messages: [
      { type: 'portal.notified', data: { notification: 'n', evento: 'e', recipientKind: 'CNPJ', bodyBytes: 2 } },
      ...of('host.handled', ofTwo('a'), { handler: 'a', handlers: ['a'] }),
      ...of('host.failed', { ...ofTwo('a'), ...thrown, retryAt: nextDay }, { ...ofTwo('a'), ...thrown, retryAt: null }),
      ...of('notification.replay', { which: 'failed' }, { which: 'all' }),
      { type: 'notification.skip', data: {} },
      { type: 'notification.recover', data: { notification: 'n', evento: 'e', failedAt: nextDay, bodyBytes: 2 } },
    ],
    more: [
      { type: 'host.handled', data: ofTwo('b') },
      { type: 'host.failed', data: { ...ofTwo('b'), ...thrown, retryAt: nextDay } },
    ],
  },
  {
    machine: portalMachine,
    messages: [
      { type: 'portal.recover', data: { day: '2026-11-20', today: '2026-11-20', since: '2026-11-20' } },
      { type: 'portal.recover', data: { day: '2026-11-22', today: '2026-11-23', since: '2026-11-19' } },
      { type: 'portal.list', data: {} },
      { type: 'portal.listFailures', data: { day: '2026-11-20', recover: false } },
      ...of('portal.recoverSoon', { reason: 'unstored', days: ['2026-11-20'], now, waiting: ['2026-11-20'] }),
      { type: 'portal.observeForeignFailure', data: { failure: 'f', evento: 'e', failedAt: null, remoteId: 7 } },
      { type: 'portal.subscriptionsListed', data: { active: 1, deleted: 0 } },
      { type: 'portal.failuresListed', data: { read: 1, unreadable: 0, recovered: 1, stored: 0 } },
      { type: 'portal.declined', data: { operation: 'listFailures', httpStatus: 401, code: null } },
    ],
  },
]

/** The samples, each with the name of its machine. */
export const namedSamples = samples.map(sample => ({ ...sample, name: sample.machine.name }))

/** An event that a command or a fact may lead to. */
export interface MachineRule {
  readonly event: string
  /** The states in which it may, by path. Of each region that is named, one of the named states must be current. */
  readonly in?: readonly string[]
  readonly if?: Readonly<Record<string, string | boolean>>
  /** `always`: it is marked as an anomaly. `elsewhere`: it is marked as one in states other than `in`. */
  readonly anomaly?: 'always' | 'elsewhere'
  readonly owes?: readonly string[]
}

/** The events that a machine may decide, and what the guards of its chart read from an event. */
export interface MachineRules {
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, string | boolean>>>>
  readonly makes: Readonly<Record<string, readonly MachineRule[]>>
}

const readsConsent = ['consentService.readConsent']
const heldStatuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO'].map(status => `status.${status}`)

/** The status changes of the contract's table, whichever fact reveals them. */
const consentMoves: readonly MachineRule[] = [
  { event: 'consent.approved', in: ['status.PENDENTE'], if: { status: 'ATIVO' } },
  { event: 'consent.denied', in: ['status.PENDENTE'], if: { status: 'NEGADO' } },
  { event: 'consent.revoked', in: ['status.ATIVO'], if: { status: 'REVOGADO' } },
  { event: 'consent.expired', in: ['status.PENDENTE', 'status.ATIVO'], if: { status: 'EXPIRADO' } },
  { event: 'consent.conflicted', anomaly: 'always' },
]
const consentStatusRules: readonly MachineRule[] = [{ event: 'consent.confirmed', in: heldStatuses }, ...consentMoves]
const consentReadings: readonly MachineRule[] = [
  { event: 'consent.appeared', in: ['status.absent', 'status.vanished'], owes: readsConsent },
  { event: 'consent.amended', in: heldStatuses },
  ...consentStatusRules,
]
const changeNotMade: MachineRule = {
  event: 'consent.changeNotMade',
  in: ['knowledge.uncertain'],
  anomaly: 'always',
}
const changeRules = (status: string, from: string, ...out: string[]): MachineRule[] => [
  {
    event: 'consent.changeRequested',
    if: { status },
    in: [`status.${from}`, 'knowledge.known', ...out],
    owes: ['consentService.changeStatus'],
  },
]

const consent: MachineRules = {
  conditions: {
    showsPendente: { status: 'PENDENTE' },
    showsAtivo: { status: 'ATIVO' },
    showsNegado: { status: 'NEGADO' },
    showsRevogado: { status: 'REVOGADO' },
    showsExpirado: { status: 'EXPIRADO' },
    isContrary: { isContrary: true },
    isChangePending: { isChangePending: true },
    staysChanging: { knowledge: 'changing' },
    staysUncertain: { knowledge: 'uncertain' },
  },
  makes: {
    'consent.erase': [{ event: 'consent.erased' }],
    'consent.approve': changeRules('ATIVO', 'PENDENTE'),
    'consent.deny': changeRules('NEGADO', 'PENDENTE'),
    'consent.revoke': changeRules('REVOGADO', 'ATIVO'),
    'consent.approveInstead': changeRules('ATIVO', 'PENDENTE', 'knowledge.changing'),
    'consent.denyInstead': changeRules('NEGADO', 'PENDENTE', 'status.vanished', 'knowledge.changing'),
    'consent.revokeInstead': changeRules('REVOGADO', 'ATIVO', 'knowledge.changing'),
    'consent.readDetail': [{ event: 'consent.detailRequested', in: heldStatuses, owes: readsConsent }],
    'consent.observe': [
      ...consentReadings,
      changeNotMade,
      { event: 'consent.changeSeen', in: heldStatuses, owes: readsConsent },
      { event: 'consent.detailRequested', in: ['status.ATIVO'], owes: readsConsent },
    ],
    'consent.observeUnreadable': [
      { event: 'consent.changeSeen', in: heldStatuses, owes: readsConsent, anomaly: 'always' },
    ],
    'consent.miss': [{ event: 'consent.vanished', in: heldStatuses, anomaly: 'always' }],
    'consent.passTime': [{ event: 'consent.lapsed', in: ['status.PENDENTE', 'status.ATIVO'] }],
    'consent.use': [{ event: 'consent.used', in: ['status.ATIVO'] }, { event: 'consent.useRefused' }],
    'consentService.consentRead': [
      { event: 'consent.described', owes: readsConsent },
      ...consentReadings,
      changeNotMade,
      { event: 'consent.changeSeen', in: heldStatuses },
    ],
    'consentService.statusChanged': [
      { event: 'consent.answeredLate' },
      ...consentReadings.filter(rule => rule.event !== 'consent.appeared' && rule.event !== 'consent.conflicted'),
      { event: 'consent.conflicted', anomaly: 'always', owes: readsConsent },
      { event: 'consent.changeSeen', in: heldStatuses, owes: readsConsent },
    ],
    'consent.withholdChange': [{ event: 'consent.changeWithheld' }],
    'consentService.changeDeclined': [
      { event: 'consent.changeDeclined', owes: readsConsent },
      { event: 'consent.answeredLate' },
    ],
    'consentService.changeLost': [
      { event: 'consent.changeLost', owes: readsConsent },
      { event: 'consent.answeredLate' },
    ],
    'consentService.readDeclined': [{ event: 'consent.readDeclined' }, ...consentStatusRules],
    'consentService.readGivenUp': [{ event: 'consent.readGivenUp' }, ...consentStatusRules],
  },
}

const beforeActive = ['absent', 'declared', 'registering', 'changing', 'deleting', 'deleted']
const registered = ['active', 'changing', 'deleting']
const adoptRules: readonly MachineRule[] = [{ event: 'subscription.registered', in: beforeActive }]

const lateAnswer: MachineRule = { event: 'subscription.answeredLate' }

const subscription: MachineRules = {
  conditions: { isByUs: { by: 'us' }, failsAgain: { failsAgain: true } },
  makes: {
    'subscription.declare': [{ event: 'subscription.declared', in: ['absent'] }],
    'subscription.register': [
      {
        event: 'subscription.registrationRequested',
        in: ['declared', 'deleted'],
        owes: ['portal.subscribe'],
      },
    ],
    'subscription.change': [
      { event: 'subscription.changeRequested', in: ['active'], owes: ['portal.changeSubscription'] },
    ],
    'subscription.rotate': [
      { event: 'subscription.rotationRequested', in: ['active'], owes: ['portal.changeSubscription'] },
    ],
    'subscription.delete': [
      { event: 'subscription.deletionRequested', in: ['active'], owes: ['portal.deleteSubscription'] },
    ],
    'subscription.adopt': adoptRules,
    'subscription.takeOver': adoptRules,
    'subscription.observe': [
      { event: 'subscription.deleted', in: registered },
      { event: 'subscription.reappeared', in: ['declared', ...registered, 'deleted'], anomaly: 'always' },
      { event: 'subscription.confirmed', in: ['changing.uncertain', 'deleting.uncertain'] },
      { event: 'subscription.changed', in: ['changing.uncertain'] },
      { event: 'subscription.drifted', in: registered },
      { event: 'subscription.recovered', in: ['active.failing', 'changing', 'deleting'] },
      { event: 'subscription.threatened', in: registered },
    ],
    'subscription.miss': [
      { event: 'subscription.declined', in: ['registering.uncertain'] },
      { event: 'subscription.deleted', in: registered, anomaly: 'always' },
    ],
    'subscription.observeFailure': [{ event: 'subscription.failing' }],
    'subscription.recoverFailure': [{ event: 'subscription.failureRecovered' }],
    'portal.subscribed': [{ event: 'subscription.registered' }],
    'portal.subscriptionChanged': [{ event: 'subscription.changed' }, lateAnswer],
    'portal.subscriptionDeleted': [{ event: 'subscription.deleted', if: { by: 'us' } }, lateAnswer],
    'portal.declined': [{ event: 'subscription.declined' }, lateAnswer],
    'portal.lost': [{ event: 'subscription.lost', owes: ['portal.listSubscriptions'] }],
  },
}

const enrolled = ['enrolled']
/** A fact may arrive after its data subject was erased. */
const enrolledOrErased = [...enrolled, 'erased']
/** Subjects of whom some data is left. */
const withData = [...enrolled, 'erased.partly']
const readingRules = (
  event: string,
  operation: string,
  states: readonly string[] = enrolled,
): readonly MachineRule[] => [{ event: `subject.${event}`, in: states, owes: [`consentService.${operation}`] }]

const subject: MachineRules = {
  conditions: { isAuthenticated: { isAuthenticated: true }, keepsSome: { isPartial: true } },
  makes: {
    'subject.enrol': [{ event: 'subject.enrolled', in: ['unmet'] }],
    'subject.sync': readingRules('syncRequested', 'listConsents'),
    'subject.schedule': readingRules('scheduled', 'listConsents'),
    'subject.unschedule': [{ event: 'subject.unscheduled', in: enrolled }],
    'subject.readAwareness': readingRules('awarenessRequested', 'listAwareness'),
    'subject.readAwarenessDetail': readingRules('awarenessDetailRequested', 'readAwareness'),
    'subject.readLogin': readingRules('loginRequested', 'readLogin'),
    'subject.readLoginAddress': readingRules('loginAddressRequested', 'readLoginAddress'),
    'subject.hold': [{ event: 'subject.held', in: withData }],
    'subject.release': [{ event: 'subject.released', in: withData }],
    'subject.erase': [
      { event: 'subject.erasureRequested', in: withData },
      { event: 'subject.erased', in: withData, owes: ['keys.rotate'] },
    ],
    'keys.rotated': [{ event: 'subject.erasureCompleted', in: enrolledOrErased, owes: ['keys.destroyEpochs'] }],
    'keys.epochsDestroyed': [{ event: 'subject.epochsDestroyed', in: enrolledOrErased }],
    'subject.refuseUse': [{ event: 'subject.useRefused', in: enrolled }],
    'subject.missAwareness': [{ event: 'subject.awarenessVanished', in: enrolled, anomaly: 'always' }],
    'subject.observeAwareness': [
      { event: 'subject.awarenessAppeared', in: enrolled },
      { event: 'subject.awarenessAmended', in: enrolled },
    ],
    'consentService.consentsListed': readingRules('synced', 'listConsents', enrolledOrErased),
    'consentService.awarenessListed': [{ event: 'subject.awarenessListed', in: enrolledOrErased }],
    'consentService.awarenessRead': [{ event: 'subject.awarenessDescribed', in: enrolledOrErased }],
    'consentService.loginRead': [{ event: 'subject.loginRead', in: enrolledOrErased }],
    'consentService.loginAddressRead': [{ event: 'subject.loginAddressRead', in: enrolledOrErased }],
    'consentService.readDeclined': readingRules('readDeclined', 'listConsents', enrolledOrErased),
  },
}

const token: MachineRules = {
  makes: {
    'token.request': [
      {
        event: 'token.requested',
        in: ['absent', 'valid', 'rejected', 'repeated', 'locked'],
        owes: ['tokenService.requestToken'],
      },
    ],
    'token.reject': [{ event: 'token.rejected', in: ['valid'] }],
    'tokenService.issued': [{ event: 'token.renewed', in: ['requesting'], anomaly: 'elsewhere' }],
    'tokenService.repeated': [{ event: 'token.repeated', in: ['requesting'], anomaly: 'elsewhere' }],
    'tokenService.credentialsRefused': [{ event: 'token.locked', in: ['requesting'], anomaly: 'elsewhere' }],
    'tokenService.requestLost': [{ event: 'token.requestFailed', in: ['requesting'], anomaly: 'elsewhere' }],
  },
}

const validation: MachineRules = {
  makes: {
    'validation.request': [
      { event: 'validation.requested', in: ['absent'], owes: ['validationService.validatePerson'] },
    ],
    'validation.reuse': [{ event: 'validation.reused', in: ['absent'] }],
    'validation.resolve': [{ event: 'validation.resolved', in: ['inconclusive'] }],
    'validation.repeat': [{ event: 'validation.repeated', in: ['inconclusive', 'resolved'] }],
    'validationService.answered': [{ event: 'validation.answered', in: ['requested'], anomaly: 'elsewhere' }],
    'validationService.declined': [{ event: 'validation.declined', in: ['requested'], anomaly: 'elsewhere' }],
    'validation.withhold': [{ event: 'validation.withheld', in: ['requested'], anomaly: 'elsewhere' }],
    'validationService.lost': [{ event: 'validation.inconclusive', in: ['requested'] }],
    'validationService.undone': [{ event: 'validation.resolved', in: ['inconclusive'] }],
    'validation.erase': [{ event: 'validation.erased', in: ['requested', 'inconclusive', 'resolved'] }],
  },
}

const storedStates = ['received', 'failing', 'handled', 'parked']

const notification: MachineRules = {
  makes: {
    'portal.notified': [
      { event: 'notification.received', in: ['absent'] },
      { event: 'notification.copied', in: storedStates },
    ],
    'notification.recover': [{ event: 'notification.recovered', in: ['absent'] }],
    'host.handled': [{ event: 'notification.handled', in: storedStates }],
    'host.failed': [
      { event: 'notification.failed', in: storedStates },
      { event: 'notification.parked', in: storedStates },
    ],
    'notification.replay': [{ event: 'notification.replayed', in: storedStates }],
  },
}

const portal: MachineRules = {
  makes: {
    'portal.list': [{ event: 'portal.listRequested', owes: ['portal.listSubscriptions'] }],
    'portal.listFailures': [{ event: 'portal.failuresRequested', owes: ['portal.listFailures'] }],
    'portal.recover': [
      { event: 'portal.recoveryRequested', owes: ['portal.listFailures', 'portal.listSubscriptions'] },
    ],
    'portal.recoverSoon': [{ event: 'portal.recoveryHastened', owes: ['portal.listFailures'] }],
    'portal.observeForeignFailure': [{ event: 'portal.foreignFailure' }],
    'portal.subscriptionsListed': [{ event: 'portal.listed' }],
    'portal.failuresListed': [{ event: 'portal.failuresListed', owes: ['portal.listFailures'] }],
    'portal.declined': [{ event: 'portal.readDeclined' }],
  },
}

const rulesByMachine: Readonly<Record<string, MachineRules>> = {
  budget: { makes: { 'budget.spend': [{ event: 'budget.spent', in: ['open'] }] } },
  certificate: {
    makes: {
      'certificate.observe': [{ event: 'certificate.expiring' }, { event: 'certificate.renewed', in: ['expiring'] }],
    },
  },
  consent,
  effect: {
    makes: {
      'effect.attempt': [{ event: 'effect.attempted', in: ['going', 'parked'] }],
      'effect.defer': [{ event: 'effect.deferred', in: ['going'] }],
      'effect.park': [{ event: 'effect.parked', in: ['going'], if: { by: 'operator' } }],
      'effect.exhaust': [{ event: 'effect.parked', in: ['going'], if: { by: 'policy' } }],
      'effect.retry': [{ event: 'effect.resumed', in: ['going', 'parked'] }],
      'effect.withdraw': [{ event: 'effect.withdrawn', in: ['going', 'parked'] }],
    },
  },
  follower: { makes: { 'follower.skip': [{ event: 'follower.skipRequested' }] } },
  notification,
  portal,
  retention: { makes: { 'retention.apply': [{ event: 'retention.applied' }] } },
  reveal: { makes: { 'reveal.record': [{ event: 'reveal.recorded', in: ['absent'] }] } },
  subject,
  subscription,
  token,
  validation,
}

/**
 * Returns the rules of the newest version of a machine. They state what can be checked by state alone, without the
 * context. Tests check every known decision against them.
 */
export function rulesOf(machine: string): MachineRules {
  const rules = rulesByMachine[machine]
  if (rules) return rules
  throw new TypeError(`Cannot find the rules of the machine "${machine}": add them to rulesByMachine in rules.ts`)
}

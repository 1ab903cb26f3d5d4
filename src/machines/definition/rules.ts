/** One thing that a command or a fact may lead to. */
export interface MachineRule {
  readonly event: string
  /** The paths of the states in which it may; where a region is named, one of its named states. */
  readonly in?: readonly string[]
  /** Only with these members in its data. */
  readonly if?: Readonly<Record<string, string | boolean>>
  /** `always`: it is marked as an anomaly. `elsewhere`: it is, except in one of the states. */
  readonly anomaly?: 'always' | 'elsewhere'
  /** The effects that it may owe. */
  readonly owes?: readonly string[]
}

/** What the decisions of a machine may lead to, and what the guards of its chart read of an event. */
export interface MachineRules {
  readonly conditions?: Readonly<Record<string, Readonly<Record<string, string | boolean>>>>
  readonly makes: Readonly<Record<string, readonly MachineRule[]>>
}

const readsConsent = ['consentService.readConsent']
const held = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO'].map(status => `status.${status}`)

/** The moves of the contract's table, by whichever fact they became known. */
const consentMoves: readonly MachineRule[] = [
  { event: 'consent.approved', in: ['status.PENDENTE'], if: { status: 'ATIVO' } },
  { event: 'consent.denied', in: ['status.PENDENTE'], if: { status: 'NEGADO' } },
  { event: 'consent.revoked', in: ['status.ATIVO'], if: { status: 'REVOGADO' } },
  { event: 'consent.expired', in: ['status.PENDENTE', 'status.ATIVO'], if: { status: 'EXPIRADO' } },
  { event: 'consent.conflicted', anomaly: 'always' },
]
const consentBelieved: readonly MachineRule[] = [{ event: 'consent.confirmed', in: held }, ...consentMoves]
const consentReadings: readonly MachineRule[] = [
  { event: 'consent.appeared', in: ['status.absent', 'status.vanished'], owes: readsConsent },
  { event: 'consent.amended', in: held },
  ...consentBelieved,
]
const notMade: MachineRule = {
  event: 'consent.changeNotMade',
  in: ['knowledge.uncertain'],
  anomaly: 'always',
}
const asksFor = (status: string, from: string, ...out: string[]): MachineRule[] => [
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
    'consent.approve': asksFor('ATIVO', 'PENDENTE'),
    'consent.deny': asksFor('NEGADO', 'PENDENTE'),
    'consent.revoke': asksFor('REVOGADO', 'ATIVO'),
    'consent.approveInstead': asksFor('ATIVO', 'PENDENTE', 'knowledge.changing'),
    'consent.denyInstead': asksFor('NEGADO', 'PENDENTE', 'status.vanished', 'knowledge.changing'),
    'consent.revokeInstead': asksFor('REVOGADO', 'ATIVO', 'knowledge.changing'),
    'consent.readDetail': [{ event: 'consent.detailRequested', in: held, owes: readsConsent }],
    'consent.observe': [
      ...consentReadings,
      notMade,
      { event: 'consent.changeSeen', in: held, owes: readsConsent },
      { event: 'consent.detailRequested', in: ['status.ATIVO'], owes: readsConsent },
    ],
    'consent.observeUnreadable': [
      { event: 'consent.changeSeen', in: held, owes: readsConsent, anomaly: 'always' },
    ],
    'consent.miss': [{ event: 'consent.vanished', in: held, anomaly: 'always' }],
    'consent.passTime': [{ event: 'consent.lapsed', in: ['status.PENDENTE', 'status.ATIVO'] }],
    'consent.use': [{ event: 'consent.used', in: ['status.ATIVO'] }, { event: 'consent.useRefused' }],
    'consentService.consentRead': [
      { event: 'consent.described', owes: readsConsent },
      ...consentReadings,
      notMade,
      { event: 'consent.changeSeen', in: held },
    ],
    'consentService.statusChanged': [
      { event: 'consent.answeredLate' },
      ...consentReadings.filter(
        rule => rule.event !== 'consent.appeared' && rule.event !== 'consent.conflicted',
      ),
      { event: 'consent.conflicted', anomaly: 'always', owes: readsConsent },
      { event: 'consent.changeSeen', in: held, owes: readsConsent },
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
    'consentService.readDeclined': [{ event: 'consent.readDeclined' }, ...consentBelieved],
    'consentService.readGivenUp': [{ event: 'consent.readGivenUp' }, ...consentBelieved],
  },
}

const beforeActive = ['absent', 'declared', 'registering', 'changing', 'deleting', 'deleted']
const registered = ['active', 'changing', 'deleting']
const adopted: readonly MachineRule[] = [{ event: 'subscription.registered', in: beforeActive }]

const ofOneThatIsGone: MachineRule = { event: 'subscription.answeredLate' }

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
    'subscription.adopt': adopted,
    'subscription.takeOver': adopted,
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
    'portal.subscriptionChanged': [{ event: 'subscription.changed' }, ofOneThatIsGone],
    'portal.subscriptionDeleted': [{ event: 'subscription.deleted', if: { by: 'us' } }, ofOneThatIsGone],
    'portal.declined': [{ event: 'subscription.declined' }, ofOneThatIsGone],
    'portal.lost': [{ event: 'subscription.lost', owes: ['portal.listSubscriptions'] }],
  },
}

const met = ['enrolled']
/** A fact may arrive after the person it concerns was erased. */
const known = [...met, 'erased']
/** Of whom something is there. */
const kept = [...met, 'erased.partly']
const asks = (event: string, operation: string, states: readonly string[] = met): readonly MachineRule[] => [
  { event: `subject.${event}`, in: states, owes: [`consentService.${operation}`] },
]

const subject: MachineRules = {
  conditions: { isAuthenticated: { isAuthenticated: true }, keepsSome: { isPartial: true } },
  makes: {
    'subject.enrol': [{ event: 'subject.enrolled', in: ['unmet'] }],
    'subject.sync': asks('syncRequested', 'listConsents'),
    'subject.schedule': asks('scheduled', 'listConsents'),
    'subject.unschedule': [{ event: 'subject.unscheduled', in: met }],
    'subject.readAwareness': asks('awarenessRequested', 'listAwareness'),
    'subject.readAwarenessDetail': asks('awarenessDetailRequested', 'readAwareness'),
    'subject.readLogin': asks('loginRequested', 'readLogin'),
    'subject.readLoginAddress': asks('loginAddressRequested', 'readLoginAddress'),
    'subject.hold': [{ event: 'subject.held', in: kept }],
    'subject.release': [{ event: 'subject.released', in: kept }],
    'subject.erase': [
      { event: 'subject.erasureRequested', in: kept },
      { event: 'subject.erased', in: kept, owes: ['keys.rotate'] },
    ],
    'keys.rotated': [{ event: 'subject.erasureCompleted', in: known, owes: ['keys.destroyEpochs'] }],
    'keys.epochsDestroyed': [{ event: 'subject.epochsDestroyed', in: known }],
    'subject.refuseUse': [{ event: 'subject.useRefused', in: met }],
    'subject.missAwareness': [{ event: 'subject.awarenessVanished', in: met, anomaly: 'always' }],
    'subject.observeAwareness': [
      { event: 'subject.awarenessAppeared', in: met },
      { event: 'subject.awarenessAmended', in: met },
    ],
    'consentService.consentsListed': asks('synced', 'listConsents', known),
    'consentService.awarenessListed': [{ event: 'subject.awarenessListed', in: known }],
    'consentService.awarenessRead': [{ event: 'subject.awarenessDescribed', in: known }],
    'consentService.loginRead': [{ event: 'subject.loginRead', in: known }],
    'consentService.loginAddressRead': [{ event: 'subject.loginAddressRead', in: known }],
    'consentService.readDeclined': asks('readDeclined', 'listConsents', known),
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

const stored = ['received', 'failing', 'handled', 'parked']

const notification: MachineRules = {
  makes: {
    'portal.notified': [
      { event: 'notification.received', in: ['absent'] },
      { event: 'notification.copied', in: stored },
    ],
    'notification.recover': [{ event: 'notification.recovered', in: ['absent'] }],
    'host.handled': [{ event: 'notification.handled', in: stored }],
    'host.failed': [
      { event: 'notification.failed', in: stored },
      { event: 'notification.parked', in: stored },
    ],
    'notification.replay': [{ event: 'notification.replayed', in: stored }],
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

const all: Readonly<Record<string, MachineRules>> = {
  budget: { makes: { 'budget.spend': [{ event: 'budget.spent', in: ['open'] }] } },
  certificate: {
    makes: {
      'certificate.observe': [
        { event: 'certificate.expiring' },
        { event: 'certificate.renewed', in: ['expiring'] },
      ],
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
 * What the newest version of a machine may record. A decision is a function of endlessly many contexts; this states
 * what can be looked up by state. The tests check every decision they know against it.
 */
export function rulesOf(machine: string): MachineRules {
  const rules = all[machine]
  if (rules) return rules
  throw new TypeError(`Cannot find the rules of the machine "${machine}"`)
}

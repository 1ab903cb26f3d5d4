import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { Averba, Clock, Figures, Health } from '../index.ts'
import { serviceOf } from '../vocabulary/names.ts'

/** The metrics of one log in the format of Prometheus. */
export interface Metrics {
  readonly contentType: string
  scrape(): Promise<string>
}

/** A durable commit takes less than a millisecond on a good disk; on a slow one it blocks everything else. */
const commitBuckets = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2]
/** The portal gives up after 3.5 seconds. */
const answerBuckets = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 3.5]
const attemptBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10]

/** Counts averba's work from now on, and reads its state at every scrape. */
export function createMetrics(averba: Averba, clock: Clock): Metrics {
  const register = new Registry()
  collectDefaultMetrics({ register })
  const gauge: CreateGauge = (name, help, labelNames = []) =>
    new Gauge({ name: `averba_${name}`, help, labelNames, registers: [register] })
  countWork(averba, [register])
  const setFigures = createFigureGauges(gauge)
  const setHealth = createHealthGauges(gauge)
  return {
    contentType: register.contentType,
    async scrape() {
      setFigures(await averba.figures(), clock.now())
      setHealth(await averba.health())
      return register.metrics()
    },
  }
}

/** Label values are only names from our own code: states, classes, operations, machines, statuses. */
function countWork(averba: Averba, registers: Registry[]): void {
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[] = []) =>
    new Counter({ name: `averba_${name}_total`, help, labelNames, registers })
  const seconds = <L extends string>(name: string, help: string, buckets: number[], labelNames: readonly L[] = []) =>
    new Histogram({ name: `averba_${name}_seconds`, help, buckets, labelNames, registers })

  const commits = seconds('commit', 'Time of a durable commit, which blocks the event loop.', commitBuckets)
  averba.on('committed', ({ ms }) => commits.observe(ms / 1_000))

  const events = counter('events', 'Events that this process appended, by machine.', ['machine'])
  averba.on('recorded', ({ machine }) => events.inc({ machine: machine.name }))

  const attempts = counter('attempts', 'Ended attempts at calls, by operation and outcome.', ['operation', 'outcome'])
  const takenHelp = 'Attempts at calls whose last attempt has no outcome in the log, by operation.'
  const taken = counter('attempts_taken_over', takenHelp, ['operation'])
  const took = seconds('attempt', 'Time of an attempt at a call, by service.', attemptBuckets, ['service'])
  const tokens = counter('token_requests', 'Token requests that this process sent or tried to send.')
  const unreadHelp = 'Answers that were not understood, by operation and whose they are.'
  const unreadAnswers = counter('answers_unread', unreadHelp, ['operation', 'code'])
  averba.on('attempted', ({ operation, outcome, isTakenOver, ms, unread }) => {
    if (isTakenOver) taken.inc({ operation })
    if (unread !== undefined) unreadAnswers.inc({ operation, code: unread })
    attempts.inc({ operation, outcome })
    if (ms !== undefined) took.observe({ service: serviceOf(operation) }, ms / 1_000)
    if (operation === 'tokenService.requestToken') tokens.inc()
  })

  const receivedHelp = 'Notifications stored by this process: new, copies, and recovered from failure records.'
  const received = counter('notifications_received', receivedHelp, ['how'])
  for (const how of ['received', 'copied', 'recovered'] as const)
    averba.on(`notification.${how}`, () => received.inc({ how }))

  const answersHelp = 'Time until a request to the receiver was answered, by HTTP status.'
  const answers = seconds('notification_answer', answersHelp, answerBuckets, ['status'])
  averba.on('answered', ({ status, ms }) => answers.observe({ status }, ms / 1_000))
}

type CreateGauge = <L extends string>(name: string, help: string, labelNames?: readonly L[]) => Gauge<L>

function createFigureGauges(gauge: CreateGauge) {
  const position = gauge('log_position', 'The position of the last event.')
  const effects = gauge('effects', 'Calls that have not ended.', ['service', 'class', 'state'])
  const underWay = gauge('under_way', 'Commands and facts that are being recorded or wait for it.', ['what'])
  const underWayMax = gauge('under_way_max', 'Their limit: further ones are refused, or wait.', ['what'])
  const viewLag = gauge('view_lag_events', 'Events that a view is behind the log.', ['view'])
  const followerLag = gauge('followers_lag_events', 'Events that the slowest follower is behind the log.')
  const followersParked = gauge('followers_parked', 'Parked followers, which wait for an operator.')
  const notifications = gauge('notifications', 'Notifications that a handler failed at.', ['state'])
  const delivered = gauge('delivery_success_age_seconds', 'Time since a delivery of the portal last succeeded.')
  const newest = gauge('reading_age_seconds', 'Time since the last reading of any consents.')
  const oldestHelp = 'Time since the last reading of the scheduled person who has waited the longest.'
  const oldest = gauge('reading_age_oldest_seconds', oldestHelp)
  /** Without a reading the gauge has no value, and is left out. */
  const setAge = (of: Gauge, at: string | null, now: number) =>
    at === null ? of.remove() : of.set((now - Date.parse(at)) / 1_000)
  return ({ effects: pending, views, followers, readings, deliveries, ...figures }: Figures, now: number) => {
    position.set(figures.position)
    for (const each of [effects, viewLag, notifications]) each.reset()
    for (const { service, effectClass, state, count } of pending)
      effects.set({ service, class: effectClass, state }, count)
    for (const what of ['commands', 'facts'] as const) {
      underWay.set({ what }, figures.underWay[what].count)
      underWayMax.set({ what }, figures.underWay[what].max)
    }
    for (const { view, behind } of views) viewLag.set({ view }, behind)
    followerLag.set(followers.behindMax)
    followersParked.set(followers.parked)
    for (const [state, count] of Object.entries(figures.notifications ?? {})) notifications.set({ state }, count)
    setAge(delivered, deliveries.lastSuccessAt, now)
    setAge(newest, readings.newestAt, now)
    setAge(oldest, readings.oldestAt, now)
  }
}

function createHealthGauges(gauge: CreateGauge) {
  const daysLeft = gauge('certificate_days_left', 'Days until a certificate expires.', ['certificate'])
  const subscriptionHelp = 'Days until the portal deletes a subscription because of its errors.'
  const subscription = gauge('subscription_days_left', subscriptionHelp)
  const ready = gauge('ready', 'Whether the process is ready for work.')
  const checks = gauge('check_ok', 'Whether a check of averba.health() is ok.', ['check'])
  return ({ ready: isReady, checks: found }: Health) => {
    ready.set(isReady ? 1 : 0)
    for (const each of [checks, daysLeft]) each.reset()
    subscription.remove()
    for (const { name: check, ok, daysLeft: days } of found) {
      checks.set({ check }, ok ? 1 : 0)
      if (days === undefined) continue
      if (check === 'subscriptions') subscription.set(days)
      else daysLeft.set({ certificate: check }, days)
    }
  }
}

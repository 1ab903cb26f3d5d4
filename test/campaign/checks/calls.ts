import { fromInstant, hourMs, minuteMs } from '../../../src/vocabulary/instant.ts'
import type { Checks } from '../check.ts'
import { dueEffects, openEffects } from '../settle-down.ts'
import { traceHeader } from '../simulated-host.ts'

/** How far the engine's clock may be wrong in a run. */
const wrongClockMs = hourMs
/** How often one resource may be read within a minute. */
const readingsMax = 60
/** Longer than any deferral or schedule of a run. Only the destruction of keys waits longer, for their backups. */
const aheadMaxMs = 72 * hourMs

export const callChecks: Checks = {
  /** The service does each validation at most once, because it costs money. */
  'paid-once': (_, report) => {
    const paid = new Set<string>()
    return {
      served(service, request, response) {
        if (service !== 'validationService' || response.status !== 200) return
        const trace = request.headers.get(traceHeader) ?? ''
        if (paid.has(trace)) report(`the validation ${trace} was done twice`)
        paid.add(trace)
      },
    }
  },

  /**
   * A token is requested at most once for each reason: no token exists, an operation rejected it, the answer was lost,
   * or the keys that sealed it were destroyed.
   */
  'one-token': (simulated, report) => {
    /** Whether there is an unused reason for a request. */
    let isWanted = true
    let given = ''
    /** Whether a validation was called with the token, so that it must be stored. */
    let isUsed = false
    let givenAt = 0
    /** Requests that only a destruction of keys can explain, which is known once the log is read. */
    const doubtful: { readonly from: number; readonly to: number }[] = []
    const keysEnded: number[] = []
    /** Requests whose answer is never read. A delayed one may be served after the next. */
    const abandoned = new WeakSet<Request>()
    return {
      served(service, request, response) {
        if (service === 'tokenService' && response.status === 200 && !abandoned.has(request)) {
          const now = simulated.clock.now()
          if (!isWanted) doubtful.push({ from: givenAt - wrongClockMs, to: now + wrongClockMs })
          givenAt = now
          isUsed = false
        }
        if (service !== 'validationService') return
        if (request.headers.get('authorization') === `Bearer ${given}`) isUsed = true
        // Even if this answer is lost, the next call with the rejected token needs a new one.
        if (response.status === 401) isWanted = true
      },
      async exchanged(request, response) {
        // From the service or from a fault.
        if (response?.status === 401 && request.url.includes('/validate/')) isWanted = true
        if (!request.url.endsWith('/token')) return
        if (response === undefined) abandoned.add(request)
        const token = await readToken(response)
        // If the same token is issued again, the engine waits for its end and asks again. A full disk cannot store it.
        isWanted = token === undefined || token === given || simulated.disk.isFull
        if (token !== undefined) given = token
      },
      rolledBack() {
        isWanted = true
        isUsed = false
      },
      died() {
        // An answer that was read but not stored is lost with the process.
        if (!isUsed) isWanted = true
      },
      recorded({ type, at }) {
        if (type.startsWith('token.')) simulated.runRecord.markReached(type)
        // Destroying older keys destroys a token that they sealed.
        if (type === 'subject.epochsDestroyed') keysEnded.push(fromInstant(at))
      },
      async end() {
        for (const { from, to } of doubtful) {
          const which = keysEnded.findIndex(at => at >= from && at <= to)
          if (which < 0) report('a token was requested while the one before was valid')
          else keysEnded.splice(which, 1)
        }
      },
    }
  },

  /** No resource is read repeatedly without a pause, whatever the answers are. */
  'reads-paused': (simulated, report) => {
    const readings = new Map<string, number>()
    let minute = 0
    return {
      served(service, { method, url }) {
        if (method !== 'GET') return
        const now = Math.floor(simulated.clock.now() / minuteMs)
        if (now !== minute) readings.clear()
        minute = now
        const times = (readings.get(url) ?? 0) + 1
        readings.set(url, times)
        if (times === readingsMax) report(`a resource of the ${service} was read ${times} times within a minute`)
      },
    }
  },

  /**
   * At the end no effect is due or waits for a person, no effect is deferred for too long, each schedule has its next
   * reading, and no follower waits for a retry.
   */
  'nothing-pending': (simulated, report) => ({
    async end() {
      for (const what of await dueEffects(simulated)) report(what)
      const effects = (await openEffects(simulated)) ?? []
      const far = new Date(simulated.clock.now() + aheadMaxMs).toISOString()
      for (const { id, type, dueAt, state } of effects)
        if (dueAt !== undefined && dueAt > far && !type.startsWith('keys.'))
          report(`${id}: ${type} is ${state} until ${dueAt}`)
      const scheduled = await simulated.host.askFor(({ views }) =>
        views.selectFrom('subjects').select('subject').where('sync_every_ms', 'is not', null).execute(),
      )
      for (const { subject } of scheduled ?? []) {
        // A scheduled reading has its period.
        const isPending = effects.some(
          ({ stream, data }) => stream === `subject-${subject}` && 'everyMs' in Object(data),
        )
        if (!isPending) report(`the schedule of ${subject} has no pending reading`)
      }
      const followers = await simulated.host.askFor(averba => averba.log.followers())
      for (const { name, isParked, dueAt } of followers ?? [])
        if (isParked || dueAt !== null) report(`the follower ${name} still waits for a retry`)
    },
  }),
}

async function readToken(response: Response | undefined): Promise<string | undefined> {
  if (response?.status !== 200) return undefined
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  if (typeof body !== 'object' || body === null || !('access_token' in body)) return undefined
  return String(body.access_token)
}

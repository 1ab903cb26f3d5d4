import { fromInstant } from '../../../src/vocabulary/instant.ts'
import type { CreateCheck } from '../check.ts'

/** How far the engine's clock may be wrong in a run. */
const wrongClockMs = 3_600_000

/**
 * A token is requested at most once for each reason: no token exists, an operation rejected it, the answer was lost, or the
 * keys that sealed it were destroyed.
 */
export const oneToken: CreateCheck = (simulated, report) => {
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
      if (response?.status === 401 && request.url.includes('/validate/')) isWanted = true // From the service or from a fault.
      if (!request.url.endsWith('/token')) return
      if (response === undefined) abandoned.add(request)
      const token = await readToken(response)
      // If the gateway issues the same token again, the engine waits for its end and asks again. A full disk cannot store it.
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

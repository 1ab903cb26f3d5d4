import { fromInstant } from '../../../src/vocabulary/instant.ts'
import type { MakeCheck } from '../check.ts'

/** How far the engine's clock may be wrong in a run. */
const wrongClockMs = 3_600_000

/**
 * A token is asked for when there is none, when an operation rejected the one that was given, when the answer was lost on
 * its way, or when the keys that it was kept under have ended: at most once for each.
 */
export const oneToken: MakeCheck = (box, say) => {
  /** Whether there is a reason to ask that was not used yet. */
  let isWanted = true
  let given = ''
  /** Whether an operation has called with the token that was given: then it was kept. */
  let isUsed = false
  let givenAt = 0
  /** Requests that nothing explains but keys that ended: the log says so when it is read. */
  const doubtful: { readonly from: number; readonly to: number }[] = []
  const keysEnded: number[] = []
  /** Requests of which it is known that nobody reads an answer: one that was held up may be served after the next. */
  const unheard = new WeakSet<Request>()
  return {
    served(service, request, response) {
      if (service === 'tokenService' && response.status === 200 && !unheard.has(request)) {
        const now = box.clock.now()
        if (!isWanted) doubtful.push({ from: givenAt - wrongClockMs, to: now + wrongClockMs })
        givenAt = now
        isUsed = false
      }
      if (service !== 'validationService') return
      if (request.headers.get('authorization') === `Bearer ${given}`) isUsed = true
      // Whatever becomes of the answer: who calls with a token that is rejected will have to ask.
      if (response.status === 401) isWanted = true
    },
    async exchanged(request, response) {
      if (response?.status === 401 && request.url.includes('/validate/')) isWanted = true // Wherever that came from.
      if (!request.url.endsWith('/token')) return
      if (response === undefined) unheard.add(request)
      const token = await tokenIn(response)
      // The same token once more is no other one: its stated time is waited for, and it is asked for again.
      isWanted = token === undefined || token === given || box.disk.isFull // Then it cannot be kept.
      if (token !== undefined) given = token
    },
    rolledBack() {
      isWanted = true
      isUsed = false
    },
    died() {
      // An answer that was heard of and not kept is lost with the process.
      if (!isUsed) isWanted = true
    },
    recorded({ type, at }) {
      if (type.startsWith('token.')) box.book.reach(type)
      // With the older keys goes what is kept under them.
      if (type === 'subject.epochsDestroyed') keysEnded.push(fromInstant(at))
    },
    async end() {
      for (const { from, to } of doubtful) {
        const which = keysEnded.findIndex(at => at >= from && at <= to)
        if (which < 0) say('a token was asked for while the one before was good')
        else keysEnded.splice(which, 1)
      }
    },
  }
}

async function tokenIn(response: Response | undefined): Promise<string | undefined> {
  if (response?.status !== 200) return undefined
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  if (typeof body !== 'object' || body === null || !('access_token' in body)) return undefined
  return String(body.access_token)
}

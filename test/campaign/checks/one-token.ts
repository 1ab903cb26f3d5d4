import type { MakeCheck } from '../check.ts'

/**
 * A token is asked for when there is none, when an operation rejected the one that was given, or when the answer was
 * lost on its way: at most once for each.
 */
export const oneToken: MakeCheck = (box, say) => {
  /** Whether there is a reason to ask that was not used yet. */
  let isWanted = true
  let given = ''
  /** Whether an operation has called with the token that was given: then it was kept. */
  let isUsed = false
  return {
    served(service, request, response) {
      if (service === 'tokenService' && response.status === 200) {
        if (!isWanted) say('a token was asked for while the one before was good')
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
    recorded({ type }) {
      if (type.startsWith('token.')) box.book.reach(type)
    },
  }
}

async function tokenIn(response: Response | undefined): Promise<string | undefined> {
  if (response?.status !== 200 || !isJson(response)) return undefined
  const body: unknown = await response
    .clone()
    .json()
    .catch(() => undefined)
  if (typeof body !== 'object' || body === null || !('access_token' in body)) return undefined
  return String(body.access_token)
}

function isJson(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('application/json') ?? false
}

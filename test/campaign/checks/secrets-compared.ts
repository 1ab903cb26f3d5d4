import type { CreateCheck } from '../check.ts'
import { subscriptions } from '../people.ts'

/** The receiver accepts notifications with the right secrets and refuses the others. */
export const secretsCompared: CreateCheck = (simulated, report) => ({
  received({ headers }, { status }) {
    const declared = subscriptions.find(each => each.evento === headers.get('event-type'))
    if (declared?.chaveSecreta === undefined) return // A derived secret is unknown here.
    const isRight =
      headers.get('secret') === declared.chaveSecreta &&
      headers.get('authorization') === (declared.chaveAutenticacao ?? null)
    if (isRight && (status === 401 || status === 403))
      report(`a delivery with the right secrets was answered ${status}`)
    if (!isRight && status < 300) report('a delivery with wrong secrets was accepted')
    if (!isRight) simulated.runRecord.markReached('wrong secrets refused')
  },
})

import type { MakeCheck } from '../check.ts'
import { subscriptions } from '../people.ts'

/** What carries the secrets of its subscription is taken, and what does not is refused. */
export const secretsCompared: MakeCheck = (box, say) => ({
  received({ headers }, { status }) {
    const declared = subscriptions.find(each => each.evento === headers.get('event-type'))
    if (declared?.chaveSecreta === undefined) return // What is derived is nowhere to be compared with.
    const isRight =
      headers.get('secret') === declared.chaveSecreta &&
      headers.get('authorization') === (declared.chaveAutenticacao ?? null)
    if (isRight && (status === 401 || status === 403))
      say(`a delivery with the right secrets was answered ${status}`)
    if (!isRight && status < 300) say('a delivery with wrong secrets was taken')
    if (!isRight) box.book.reach('wrong secrets refused')
  },
})

import { expect, test } from 'vitest'
import { createSecretHistory } from '../../../../src/api/subscriptions/secrets/history.ts'
import type { Events } from '../../../../src/index.ts'
import { VirtualClock } from '../../../../src/simulation/world/virtual-clock.ts'
import { toStream } from '../../../store/conformance/place.ts'
import { openStore } from '../../../support/store.ts'
import { temporaryStore } from '../../../support/temporary-folder.ts'

const evento = 'dimp-situacao-import'

async function given() {
  const clock = new VirtualClock()
  const store = await openStore<Events>({ path: temporaryStore(), clock })
  /** The history as one process has it. */
  const begin = (own = clock) => {
    let pending: (() => Promise<void>) | undefined
    const confirmed = async () => {
      const happening = pending
      pending = undefined
      await happening?.()
      return { position: 1, at: '2026-11-19T12:00:00.000Z' }
    }
    const history = createSecretHistory({ store, clock: own }, { confirmed })
    const note = (chaveSecreta: string) => {
      const values = { master: undefined, chaveSecreta, chaveAutenticacao: undefined }
      return history.noteSources(evento, values, [{ chaveSecreta }])
    }
    /** Lets something happen once, while the process reads what the portal has confirmed. */
    const meanwhile = (work: () => Promise<void>) => {
      pending = work
    }
    return { history, note, meanwhile }
  }
  /** The secrets that another process accepts. */
  const accepted = async () => {
    const { history } = begin()
    const all = ['first', 'second', 'third', 'forged']
    const matches = await Promise.all(all.map(secret => history.matches(evento, { secret, authorization: '' })))
    return all.filter((_, i) => matches[i])
  }
  return { store, begin, accepted }
}

test('what two processes note at once is kept from both', async () => {
  const { begin, accepted } = await given()
  const [one, other] = [begin(), begin()]
  await one.note('first')
  one.meanwhile(() => other.note('third'))
  await one.note('second')
  expect(await accepted()).toEqual(['first', 'second', 'third'])
})

test('a process that saw a secret keeps a newer one that was not applied yet', async () => {
  const { store, begin, accepted } = await given()
  const [one, other] = [begin(), begin()]
  await one.note('first')
  await one.note('second')
  one.meanwhile(async () => {
    await other.note('third')
    await store.append(toStream('token-a', 'none'))
  })
  await one.history.noteSeenAtPortal(evento)
  expect(await accepted()).toEqual(['first', 'second', 'third'])
  expect(await begin().history.needsApply(evento)).toBe(true)
})

test('a process whose clock is behind can note secrets', async () => {
  const { begin, accepted } = await given()
  await begin().note('first')
  await begin(new VirtualClock('2026-11-20T11:00:00.000Z')).note('second')
  expect(await accepted()).toEqual(['first', 'second'])
})

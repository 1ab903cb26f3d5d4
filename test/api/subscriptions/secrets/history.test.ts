import { expect, test } from 'vitest'
import { createSecretHistory } from '../../../../src/api/subscriptions/secrets/history.ts'
import type { Events } from '../../../../src/index.ts'
import { VirtualClock } from '../../../../src/simulation/world/virtual-clock.ts'
import { toStream } from '../../../store/conformance/place.ts'

import { openStore } from '../../../support/store.ts'
import { temporaryStore } from '../../../support/temporary-folder.ts'

const evento = 'dimp-situacao-import'
const registeredAt = '2026-11-19T12:00:00.000Z'

async function given() {
  const clock = new VirtualClock()
  const store = await openStore<Events>({ path: temporaryStore(), clock })
  /**
   * The history as one process has it. `meanwhile` runs once, while the process reads what the portal has confirmed.
   */
  const begin = (own = clock) => {
    let pending: (() => Promise<void>) | undefined
    const confirmed = async () => {
      const happening = pending
      pending = undefined
      await happening?.()
      return { position: 1, at: registeredAt }
    }
    const history = createSecretHistory({ store, clock: own }, { confirmed })
    return {
      history,
      note: (secret: string) => note(history, secret),
      meanwhile: (work: () => Promise<void>) => {
        pending = work
      },
    }
  }
  return { store, begin }
}

function note(history: ReturnType<typeof createSecretHistory>, chaveSecreta: string): Promise<void> {
  const values = { master: undefined, chaveSecreta, chaveAutenticacao: undefined }
  return history.noteSources(evento, values, [{ chaveSecreta }])
}

/** The secrets that another process accepts. */
async function acceptedBy(
  history: ReturnType<typeof createSecretHistory>,
  secrets: readonly string[],
): Promise<string[]> {
  const taken: string[] = []
  for (const secret of secrets) if (await history.matches(evento, { secret, authorization: '' })) taken.push(secret)
  return taken
}

const all = ['first', 'second', 'third', 'forged']

test('what two processes note at once is kept from both', async () => {
  const { begin } = await given()
  const [one, other] = [begin(), begin()]
  await one.note('first')
  one.meanwhile(() => other.note('third'))
  await one.note('second')
  expect(await acceptedBy(begin().history, all)).toEqual(['first', 'second', 'third'])
})

test('a process that saw a secret keeps a newer one that was not applied yet', async () => {
  const { store, begin } = await given()
  const [one, other] = [begin(), begin()]
  await one.note('first')
  await one.note('second')
  one.meanwhile(async () => {
    await other.note('third')
    await store.append(toStream('token-a', 'none'))
  })
  await one.history.noteSeenAtPortal(evento)
  const { history } = begin()
  expect(await acceptedBy(history, all)).toEqual(['first', 'second', 'third'])
  expect(await history.needsApply(evento)).toBe(true)
})

test('a process whose clock is behind can note secrets', async () => {
  const { begin } = await given()
  await begin().note('first')
  await begin(new VirtualClock('2026-11-20T11:00:00.000Z')).note('second')
  expect(await acceptedBy(begin().history, all)).toEqual(['first', 'second'])
})

import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Keys } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { validate } from '../../support/open-validating.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine, validationServiceWith } from '../../support/world.ts'

const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }

/** A process that waits for the answer to a validation, and another that can erase two people. */
async function givenAnswerUnderWay(keys?: { asking: Keys; erasing: Keys }) {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const answered = Promise.withResolvers<void>()
  let sent = 0
  const open = (held: Keys | undefined) =>
    openEngine({
      ...{ store, clock, schedules: false, validationService: validationServiceWith({ bearer: 't' }) },
      ...(held && { keys: held }),
      async fetch() {
        sent += 1
        await answered.promise
        return Response.json({ nome: true })
      },
    })
  const other = await open(keys?.erasing)
  const averba = await open(keys?.asking)
  for (const n of [1, 2]) await other.consents.enrol({ cpf: cpfOf(n) })
  const validating = validate(averba, 'a')
  await clock.quiet()
  const erase = (n: 1 | 2) => clock.finish(other.subjects.erase({ cpf: cpfOf(n) }, erasure))
  /** Checks that the answer is recorded and the request was sent once. */
  async function end(): Promise<void> {
    expect(await clock.finish(validating)).toMatchObject({ status: 'settled' })
    expect(sent).toBe(1)
    await averba.close()
    await other.close()
  }
  return { clock, store, erase, answer: () => answered.resolve(), end }
}

/** A root key that another program holds. */
function keysWith(unwrap: Keys['unwrap']): Keys {
  return { id: 'kms-1', wrap: swap, unwrap, destroyEpoch: async () => undefined }
}

const swap = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)

test('a paid answer is recorded even if an epoch begins while the keyring is read for the previous one', async () => {
  let slow: { begun: () => void; answered: Promise<void> } | undefined
  const asking = keysWith(async wrapped => {
    slow?.begun()
    await slow?.answered
    return swap(wrapped)
  })
  const { erase, answer, end } = await givenAnswerUnderWay({ asking, erasing: keysWith(swap) })
  await erase(1)
  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  slow = { begun: reading.resolve, answered: read.promise }
  answer()
  await reading.promise
  await erase(2)
  slow = undefined
  read.resolve()
  await end()
})

test('a paid answer waits while the key service is down', async () => {
  let isAway = false
  const asking = keysWith(async wrapped => {
    if (isAway) throw new Error('ETIMEDOUT')
    return swap(wrapped)
  })
  const { clock, erase, answer, end } = await givenAnswerUnderWay({ asking, erasing: keysWith(swap) })
  await erase(1)
  isAway = true
  answer()
  await clock.advance(10_000)
  isAway = false
  await end()
})

test('a paid answer waits while the keyring is an older copy', async () => {
  const { clock, store, erase, answer, end } = await givenAnswerUnderWay()
  copyFileSync(`${store}.keys`, `${store}.older`)
  await erase(1)
  copyFileSync(`${store}.keys`, `${store}.newer`)
  copyFileSync(`${store}.older`, `${store}.keys`)
  answer()
  await clock.advance(10_000)
  copyFileSync(`${store}.newer`, `${store}.keys`)
  await end()
})

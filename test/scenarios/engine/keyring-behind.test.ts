import { copyFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Keys } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { openValidating, validate } from '../../support/open-validating.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { validationServiceWith } from '../../support/world.ts'

const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
const swap = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)

/**
 * A process that waits for the answer to a validation, and another that can erase two people. With `unwrap`, which the
 * first one uses, another program holds the root key.
 */
async function givenAnswerUnderWay(unwrap?: Keys['unwrap']) {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const answered = Promise.withResolvers<void>()
  let sent = 0
  const open = (unwrap: Keys['unwrap'] | undefined) =>
    openValidating({
      ...{ store, clock, validationService: validationServiceWith({ bearer: 't' }) },
      ...(unwrap && { keys: { id: 'kms-1', wrap: swap, unwrap, destroyEpoch: async () => undefined } }),
      async fetch() {
        sent += 1
        await answered.promise
        return Response.json({ nome: true })
      },
    })
  const other = await open(unwrap && swap)
  const averba = await open(unwrap)
  for (const n of [1, 2]) await other.consents.enrol({ cpf: cpfOf(n) })
  const validating = validate(averba, 'a')
  await clock.quiet()
  const erase = (n: 1 | 2) => clock.finish(other.subjects.erase({ cpf: cpfOf(n) }, erasure))
  /** Checks that the answer is recorded and the request was sent once. */
  async function end(): Promise<void> {
    expect(await clock.finish(validating)).toMatchObject({ status: 'settled' })
    expect(sent).toBe(1)
  }
  return { clock, store, erase, answer: answered.resolve, end }
}

test('a paid answer is recorded even if an epoch begins while the keyring is read for the previous one', async () => {
  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let isSlow = false
  const { erase, answer, end } = await givenAnswerUnderWay(async wrapped => {
    if (isSlow) reading.resolve()
    if (isSlow) await read.promise
    return swap(wrapped)
  })
  await erase(1)
  isSlow = true
  answer()
  await reading.promise
  await erase(2)
  isSlow = false
  read.resolve()
  await end()
})

test('a paid answer waits while the key service is down', async () => {
  let isAway = false
  const { clock, erase, answer, end } = await givenAnswerUnderWay(async wrapped => {
    if (isAway) throw new Error('ETIMEDOUT')
    return swap(wrapped)
  })
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

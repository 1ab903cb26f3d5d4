import { readFileSync, writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { type Keys, valueOf } from '../../../src/index.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { busy, holdingAnswer } from '../../support/answers.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { fillUp } from '../../support/fill-up.ts'
import { isValidation, openValidating, validate } from '../../support/open-validating.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { expectSound } from '../../support/sound-log.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld, validationServiceWith } from '../../support/world.ts'

/** A world whose disk is full from the moment that the first paid answer has arrived, before the caller has it. */
async function givenFullDisk(answer?: () => Response) {
  const store = temporaryStore()
  const { intercept, given, release } = holdingAnswer(isValidation, answer)
  const world = await openWorld({ averba: { store }, intercept })
  const outcome = validate(world.averba, 'a')
  await given
  await world.fillDisk(true)
  await fillUp(world)
  release()
  await world.clock.quiet()
  const logged = () => world.lines.map(({ message, error }) => `${message} ${error}`)
  return { world, store, outcome, logged }
}

const waits = 'the result of a call cannot be recorded: it waits until the store can be written STORE_UNSAFE'

test('a paid answer waits while the disk is full, is logged once, and is recorded once there is space', async () => {
  const { world, store, outcome, logged } = await givenFullDisk()
  await world.clock.advance(10 * minuteMs)
  // The caller’s waiting time is over.
  expect(await outcome).toMatchObject({ status: 'pending' })
  expect(logged().slice(1)).toEqual([waits]) // The first line is about the keyring.
  await world.fillDisk(false)
  await world.clock.advance(minuteMs)
  const answered = { state: 'answered', fields: { nome: { result: 'match' } } }
  expect(valueOf(await validate(world.averba, 'a'))).toMatchObject(answered)
  expect(world.validationService.answered).toBe(1)
  expect(logged().slice(1)).toEqual([waits])
  await world.close()
  await expectSound(store)
})

test.each([
  ['an answer', undefined, { status: 'settled', value: { state: 'answered' } }],
  ['an outcome that certainly did nothing, and is not in doubt afterwards', () => busy(), { status: 'deferred' }],
])('a disk that is full for a second delays the caller by a second: %s', async (_, answer, expected) => {
  const { world, outcome } = await givenFullDisk(answer)
  await world.fillDisk(false)
  await world.clock.advance(1_000)
  expect(await outcome).toMatchObject(expected)
})

test('closing ends the waiting: the call is unknown for the next process and is not sent again', async () => {
  const { world, outcome, logged } = await givenFullDisk()
  const thrown = expect(outcome).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  const before = world.clock.now()
  await world.restart()
  await thrown
  expect(world.clock.now()).toBe(before + 10_000)
  expect(logged().at(-1)).toBe('the result of a call could not be recorded before closing STORE_UNSAFE')
  await world.fillDisk(false)
  await passTime(world, 2 * minuteMs)
  expect((await world.averba.validations.get('a'))?.state).toBe('inconclusive')
  expect(world.validationService.answered).toBe(1)
})

const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
const swap = async (bytes: Uint8Array) => bytes.map(byte => byte ^ 1)

/** A process that waits for the answer to a validation, and another that can erase two people, with other keys. */
async function givenAnswerUnderWay(unwrap?: Keys['unwrap']) {
  const [clock, store] = [new VirtualClock(), temporaryStore()]
  const { intercept, given, release } = holdingAnswer(isValidation)
  const open = (unwrap: Keys['unwrap'] | undefined) =>
    openValidating({
      ...{ store, clock, validationService: validationServiceWith({ bearer: 't' }) },
      ...(unwrap && { keys: { id: 'kms-1', wrap: swap, unwrap, destroyEpoch: async () => undefined } }),
      fetch: request => intercept(request, fetch),
    })
  const fetch = vi.fn(async () => Response.json({ nome: true }))
  const other = await open(unwrap && swap)
  const averba = await open(unwrap)
  for (const n of [1, 2]) await other.consents.enrol({ cpf: cpfOf(n) })
  const validating = validate(averba, 'a')
  await given
  const erase = (n: 1 | 2) => clock.finish(other.subjects.erase({ cpf: cpfOf(n) }, erasure))
  /** Checks that the answer is recorded and the request was sent once. */
  async function end(): Promise<void> {
    expect(await clock.finish(validating)).toMatchObject({ status: 'settled' })
    expect(fetch).toHaveBeenCalledTimes(1)
  }
  return { clock, store, erase, answer: release, end }
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

test.each(['the key service is down', 'the keyring is an older copy'])('a paid answer waits while %s', async how => {
  let isAway = false
  const isDown = how === 'the key service is down'
  const unwrap = async (wrapped: Uint8Array) => (isAway ? Promise.reject(new Error('ETIMEDOUT')) : swap(wrapped))
  const { clock, store, erase, answer, end } = await givenAnswerUnderWay(isDown ? unwrap : undefined)
  const keys = `${store}.keys`
  const older = readFileSync(keys)
  await erase(1)
  const newer = readFileSync(keys)
  isAway = isDown
  if (!isDown) writeFileSync(keys, older)
  answer()
  await clock.advance(10_000)
  isAway = false
  if (!isDown) writeFileSync(keys, newer)
  await end()
})

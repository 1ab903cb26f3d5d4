import { copyFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { environmentKeys, type Keys } from '../../../src/index.ts'
import { samples, VirtualClock } from '../../../src/simulation/index.ts'
import { cpfOf } from '../../support/cpf-of.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openEngine } from '../../support/world.ts'

const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }

/** A process that waits for the answer to a validation, and another that can erase two people. */
async function givenAnswerUnderWay(keys?: { asking: Keys; erasing: Keys }) {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const answered = Promise.withResolvers<void>()
  let sent = 0
  const open = (held: Keys | undefined) =>
    openEngine({
      ...{ store, clock, schedules: false },
      ...(held && { keys: held }),
      async fetch() {
        sent += 1
        await answered.promise
        return Response.json({ nome: true })
      },
      validationService: { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid', bearer: 't' },
    })
  const other = await open(keys?.erasing)
  const averba = await open(keys?.asking)
  const people = [await other.consents.enrol({ cpf: cpfOf(1) }), await other.consents.enrol({ cpf: cpfOf(2) })] as const
  const validating = averba.validations.validate({ id: 'a', cpf: samples.cpf, claims: { nome: 'X' } })
  await clock.quiet()
  const erase = (n: 0 | 1) => clock.finish(other.subjects.erase({ subject: people[n] }, erasure))
  /** Checks that the answer is recorded and the request was sent once. */
  async function end(): Promise<void> {
    expect(await clock.finish(validating)).toMatchObject({ status: 'settled' })
    expect(sent).toBe(1)
    await averba.close()
    await other.close()
  }
  return { clock, store, erase, answer: () => answered.resolve(), end }
}

test('a paid answer is recorded even if an epoch begins while the keyring is read for the previous one', async () => {
  vi.stubEnv('AVERBA_EPOCHS_ROOT', Buffer.alloc(32, 7).toString('base64'))
  const held = environmentKeys({ variable: 'AVERBA_EPOCHS_ROOT' })
  vi.unstubAllEnvs()
  let slow: { begun: () => void; answered: Promise<void> } | undefined
  const asking: Keys = {
    ...held,
    async unwrap(wrapped) {
      slow?.begun()
      await slow?.answered
      return held.unwrap(wrapped)
    },
  }
  const { erase, answer, end } = await givenAnswerUnderWay({ asking, erasing: held })
  await erase(0)
  const [reading, read] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  slow = { begun: reading.resolve, answered: read.promise }
  answer()
  await reading.promise
  await erase(1)
  slow = undefined
  read.resolve()
  await end()
})

test('a paid answer waits while the keyring is an older copy', async () => {
  const { clock, store, erase, answer, end } = await givenAnswerUnderWay()
  copyFileSync(`${store}.keys`, `${store}.older`)
  await erase(0)
  copyFileSync(`${store}.keys`, `${store}.newer`)
  copyFileSync(`${store}.older`, `${store}.keys`)
  answer()
  await clock.advance(10_000)
  copyFileSync(`${store}.newer`, `${store}.keys`)
  await end()
})

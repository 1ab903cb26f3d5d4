import { expect, onTestFinished, test } from 'vitest'
import type { Fetch } from '../../../src/index.ts'
import { isDetail } from '../../support/consent-requests.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { consentServiceWith, openEngine } from '../../support/world.ts'

/** Far more rounds than needed. */
const roundsMax = 30

/** Two engines on one file, each always with a reading in full of one consent under way. */
async function given(status: string) {
  const answers: (() => void)[] = []
  let isSlow = false
  const answerLater = async (request: Request, answering: Promise<Response>) => {
    const answer = await answering
    if (!isSlow || !isDetail(request)) return answer
    await new Promise<void>(resolve => answers.push(resolve))
    const record = (await answer.json()) as { status: string; historico: object[] } // The service sends a record.
    return Response.json({ ...record, status, ...(status !== record.status && { historico: [] }) })
  }
  const store = temporaryStore()
  const intercept = (request: Request, forward: Fetch) => answerLater(request, forward(request))
  const { averba, clock, consentService, samples, which } = await givenConsent('ATIVO', intercept, {
    averba: { store },
  })
  const fetch = (request: Request) => answerLater(request, consentService.fetch(request, { clientName: 'gestora' }))
  const other = await openEngine({ store, clock, fetch, consentService: consentServiceWith({}) })
  const stops = [averba, other].map(each => startRun({ averba: each, clock }))
  onTestFinished(async () => {
    isSlow = false
    for (const answer of answers) answer()
    await clock.finish(Promise.all(stops.map(stop => stop())))
  })
  isSlow = true
  consentService.change(samples.cpf, which.id, 'REVOGADO')
  void averba.consents.get({ ...which, ageMaxMs: 0 })
  await clock.quiet()
  void other.consents.get({ ...which, ageMaxMs: 0 })
  await clock.advance(1_000)
  expect(answers).toHaveLength(2)
  /** Answers the readings one by one, a second apart, and returns how many came until none came for minutes. */
  async function answerAll(): Promise<number> {
    let rounds = 0
    for (; rounds < roundsMax; rounds++) {
      if (answers.length === 0) await clock.advance(3 * 60_000)
      const answer = answers.shift()
      if (!answer) break
      answer()
      // By then, an engine whose reading has become old has started another.
      await clock.advance(1_000)
    }
    return rounds
  }
  return { averba, which, answerAll }
}

test.each([
  ['the status of the list', 'REVOGADO', 5],
  ['another one', 'EXPIRADO', 10],
])('overlapping readings in full of two engines that show %s come to an end', async (_, status, below) => {
  const { averba, which, answerAll } = await given(status)
  expect(await answerAll()).toBeLessThan(below)
  expect(await averba.consents.get(which)).toMatchObject({ status, knowledge: 'known' })
})

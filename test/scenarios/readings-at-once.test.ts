import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openAverba } from '../../src/index.ts'
import { givenConsent } from './given-consent.ts'
import { isDetail } from './given-troubled.ts'

/** Far more than are needed. */
const roundsMax = 30

test('readings in full by two engines that always overlap do not make each other old for ever', async () => {
  const answers: (() => void)[] = []
  let isSlow = false
  const answerLater = async (answer: Promise<Response>) => {
    const response = await answer
    await new Promise<void>(resolve => answers.push(resolve))
    return response
  }
  const store = join(mkdtempSync(join(tmpdir(), 'averba-at-once-')), 'log.sqlite')
  const { world, subject, consent } = await givenConsent(
    'ATIVO',
    (request, forward) => (isSlow && isDetail(request) ? answerLater(forward(request)) : forward(request)),
    { averba: { store } },
  )
  const { averba, clock, consentService, samples } = world
  const other = await openAverba({
    store,
    clock,
    fetch: request => {
      const answer = consentService.fetch(request, { clientName: 'gestora' })
      return isDetail(request) ? answerLater(answer) : answer
    },
    consentService: { baseUrl: 'https://consentimento.exemplo.br', certificate: { cert: '', key: '' } },
  })
  const stop = new AbortController()
  const running = [averba, other].map(each => each.run({ signal: stop.signal }))
  onTestFinished(async () => {
    stop.abort()
    for (const answer of answers) answer()
    await clock.finish(Promise.all(running))
    await other.close()
    await world.close()
  })
  const which = { subject, id: consent.id }
  isSlow = true
  consentService.change(samples.cpf, consent.id, 'REVOGADO')
  const first = averba.consents.get({ ...which, ageMaxMs: 0 })
  await clock.quiet()
  const second = other.consents.sync({ subject })
  await clock.advance(1_000)
  expect(answers).toHaveLength(2)

  let rounds = 0
  for (; answers.length > 0 && rounds < roundsMax; rounds++) {
    answers.shift()?.()
    // Until then whoever ended has begun anew, if the list or the other one made it old.
    await clock.advance(1_000)
  }
  expect(rounds).toBeLessThan(5)
  await Promise.all([first, second])
  expect(await averba.consents.get(which)).toMatchObject({ status: 'REVOGADO', knowledge: 'known' })
})

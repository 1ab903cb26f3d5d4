import { expect, test } from 'vitest'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { isDetail } from '../../support/consent-requests.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { basis } from './story.ts'

interface Entry {
  readonly status: string
  readonly dataHora: string | null
}

const [before, then, later] = ['2026-11-19T12:00:00.000Z', '2026-11-20T12:00:00.000Z', '2026-11-20T12:30:00.000Z']

/** A consent whose history the service shows otherwise. */
async function givenHistory(
  change: (historico: readonly Entry[]) => readonly Entry[],
  status: 'PENDENTE' | 'ATIVO' = 'ATIVO',
) {
  const { world, which } = await givenConsent(status, async (request, forward) => {
    const response = await forward(request)
    if (!isDetail(request)) return response
    const { historico, ...rest } = (await response.json()) as { historico: Entry[] }
    return Response.json({ ...rest, historico: change(historico) })
  })
  return { ...world, which }
}

/** A history of entries, one per word: a status, and `-` before it, `+` later or `?` undated after it. */
const historyOf = (words: string): Entry[] =>
  words.split(' ').map(word => {
    const dataHora = word.endsWith('-') ? before : word.endsWith('+') ? later : word.endsWith('?') ? null : then
    return { status: word.replace(/[-+?]$/, ''), dataHora }
  })

const ended = [
  ...['PENDENTE- ATIVO REVOGADO+', 'ATIVO revogado+', 'REVOGADO? ATIVO', 'REVOGADO+ ATIVO', 'REVOGADO ATIVO'],
  ...['PENDENTE ATIVO REVOGADO', 'REVOGADO ATIVO PENDENTE', 'PENDENTE- ATIVO REVOGADO'],
]
const going = ['PENDENTE- REVOGADO ATIVO', 'ATIVO REVOGADO PENDENTE-', 'ATIVO PENDENTE', 'PENDENTE ATIVO', 'PENDENTE']
test.each([
  ...ended.map(words => [words, 'revoked'] as const),
  ...[...going, 'PENDENTE? ATIVO'].map(words => [words, 'active'] as const),
  ['ATIVO SUSPENSO+', 'uncertain'],
] as const)('an active status does not count if its history ends it, in any order (%s: %s)', async (words, reason) => {
  const { averba, clock, which } = await givenHistory(() => historyOf(words))
  await clock.advance(hourMs)
  await averba.consents.get({ ...which, ageMaxMs: 0 })
  await clock.advance(1)
  expect((await averba.consents.standing(which)).reason).toBe(reason)
  const using = averba.consents.use(which, { basis })
  if (reason === 'active') expect((await using).reason).toBe(reason)
  else await expect(using).rejects.toMatchObject({ standing: { reason } })
})

test.each([
  ['with earlier statuses only', ([first]: readonly Entry[]) => (first ? [{ ...first, status: 'PENDENTE' }] : [])],
  ['without dates', (all: readonly Entry[]) => all.map(each => ({ ...each, dataHora: '' }))],
])('a later history %s does not change the answer for an earlier use', async (_, change) => {
  const { averba, clock, which } = await givenHistory(change)
  await averba.consents.get(which)
  await clock.advance(hourMs)
  expect((await averba.consents.use(which, { basis })).effective).toBe(true)
  const at = toInstant(clock.now())
  await clock.advance(hourMs)
  await averba.consents.get({ ...which, ageMaxMs: 1 })
  await clock.advance(hourMs)
  expect((await averba.consents.standing(which, { at })).reason).toBe('active')
})

test.each([
  ['in lower case', (all: readonly Entry[]) => all.map(each => ({ ...each, status: each.status.toLowerCase() }))],
  ['whose newest entry is older than the approval', () => historyOf('PENDENTE')],
] as const)('a history %s does not contradict a consent that was just approved', async (_, change) => {
  const { averba, clock, which } = await givenHistory(change, 'PENDENTE')
  await averba.consents.get(which)
  await averba.consents.approve(which)
  expect((await averba.consents.use(which, { basis })).reason).toBe('active')
  await clock.advance(minuteMs)
  await averba.consents.get({ ...which, ageMaxMs: 0 })
  await clock.advance(1)
  expect((await averba.consents.use(which, { basis })).reason).toBe('active')
})

import { describe, expect, test } from 'vitest'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { checkOf } from '../../support/check-of.ts'
import { eventsOf } from '../../support/events-of.ts'
import { hourMs, minuteMs } from '../../support/pass-time.ts'
import { refuses } from '../../support/refuses.ts'
import { consentServiceWith } from '../../support/world.ts'
import { givenStory, tell } from './story.ts'

const policies = { consentService: { moveOutsideTable: 'accept' } } as const
const erasure = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }

test.each([
  { said: 'no', story: '10 min, person NEGADO, list, is denied', held: 'denied' },
  { said: 'yes, and then no', story: '10 min, person ATIVO, list, 10 min, person REVOGADO, list', held: 'revoked' },
])('a deferred approval is not sent once the person has refused: $said', async ({ story, held }) => {
  const { averba, subject, world, play } = await givenStory('PENDENTE', { policies })
  await play(`changes busy, approve deferred, ${story}, is ${held}, changes now, 1 h, settle, sent 1`)
  const data = { asked: 'ATIVO', sentBefore: true }
  expect(await eventsOf(world, 'consent.changeWithheld')).toMatchObject([{ data }])
  const report = await averba.subjects.report({ subject }, { language: 'en' })
  expect(report).toContain('not repeated: it was sent and not processed, and then it no longer applied')
  await play(`approve declined WITHDRAWN, full, is ${held}`)
})

test('a deferred revocation is settled without sending it when the service shows REVOGADO', async () => {
  const { averba, subject, world, play } = await givenStory('ATIVO')
  await play('changes busy, revoke deferred, person REVOGADO, list, changes now, 1 h, settle, sent 1, revoke settled')
  const data = { asked: 'REVOGADO', sentBefore: true, isDone: true }
  expect(await eventsOf(world, 'consent.changeWithheld')).toMatchObject([{ data }])
  const report = await averba.subjects.report({ subject }, { language: 'en' })
  expect(report).toContain('The change to REVOGADO was not sent again: the service had already shown this status')
  expect(report).toContain('not repeated: it was sent and not processed, and then the consent had the requested status')
})

test.each([
  ['deferred by an answer: shared', 'changes busy, approve deferred', ['Serviço de consentimento']],
  ['never sent: not shared', 'refuse, approve deferred, reach', []],
])('the data of a withheld change, %s', async (_, story, recipients) => {
  const { averba, clock, play } = await givenStory('PENDENTE')
  await play(`${story}, person NEGADO, list`)
  const from = toInstant(clock.now() + minuteMs)
  await play('changes now, 1 h, settle')
  const until = toInstant(clock.now() + minuteMs)
  const operations = await Array.fromAsync(averba.audit.processing({ from, until }))
  expect(operations.flatMap(each => each.recipients)).toEqual(recipients)
})

const revokedByService = 'Consentimento revogado conforme o serviço de consentimento'
test.each([
  {
    whose: 'that of the person as theirs while ours is deferred, which is then not repeated',
    story: 'changes busy, revoke deferred, person REVOGADO, list, moves revoked:service, changes now, 1 h, settle',
    words: [revokedByService, 'Mudança para REVOGADO não repetida: o serviço já havia mostrado essa situação'],
  },
  {
    whose: 'ours as ours although a reading showed it before the answer',
    story: 'hold changes back, begin revoke, list, open 1, revoke settled, moves revoked:service',
    words: [revokedByService, 'O serviço respondeu que fez a mudança para REVOGADO, que uma leitura já havia mostrado'],
  },
  {
    whose: 'ours as not made yet if the answer shows another status',
    story: 'changes answered ATIVO, revoke settled, moves',
    words: ['O serviço respondeu à mudança com ATIVO: uma nova leitura mostrará o que aconteceu'],
  },
])('the report shows a revocation: $whose', async ({ story, words }) => {
  const { averba, subject, play } = await givenStory('ATIVO')
  await play(story)
  const types = ['consent.revoked', 'consent.answeredLate', 'consent.changeContradicted', 'consent.changeWithheld']
  const { timeline }: { timeline: { type: string; words: string }[] } = JSON.parse(
    await averba.subjects.report({ subject }),
  )
  expect(timeline.filter(({ type }) => types.includes(type)).map(each => each.words)).toEqual(words)
})

test('a revocation that the service refused is reported until the service shows an end', async () => {
  const until = (at: string) => `lists expiring ${at}, details expiring ${at}`
  const never = { consentService: { expiry: 'never' } } as const
  const { averba, which, world, play } = await givenStory('ATIVO', { averba: { schedules: true }, policies: never })
  await play(`${until('2026-11-20T13:00:00.000Z')}, list, changes 400, revoke declined 400, health bad, 25 h, settle`)
  expect(await eventsOf(world, 'consent.lapsed')).not.toEqual([])
  expect(await averba.consents.get(which)).toMatchObject({ status: 'ATIVO', knowledge: 'uncertain' })
  await play(`health bad, ${until('2027-11-20T13:00:00.000Z')}, list, is uncertain, health bad, sent 1,
    lists now, details now, person EXPIRADO, list, health ok`)
})

test('followers, logger and health report a lost revocation until it is made', async () => {
  const { averba, world, which, lines, play } = await givenStory('ATIVO')
  const called: unknown[] = []
  averba.log.follow('asks-again', ['consent.changeNotMade'], async event => {
    called.push([(await averba.consents.of(event))?.id, event.anomaly])
  })
  lines.length = 0
  await play('health ok, changes lost, revoke unknown, 1 min, settle, revoke declined NOT_DONE, health bad')
  expect(called).toEqual([[which.id, 'the change to REVOGADO, whose answer was lost, was not made']])
  const [event] = await eventsOf(world, 'consent.changeNotMade')
  const message = 'a change of a consent was not made: see whether it is asked for again'
  expect(lines).toMatchObject([{ message, detail: `${event?.stream}: REVOGADO` }])
  expect((await checkOf(averba, 'consents'))?.detail).toMatch(
    /^1 denial or revocation has not been made yet, and nothing is used meanwhile: see effects.list\(\); /,
  )
  await play(`lists without, list, health bad, changes now, 1 h, settle, sent 1, lists now, list, settle, 1 h, settle,
    is revoked, sent 2, health ok`)
})

test('a revocation that is still wanted refuses an approval and blocks, until a person gives it up with a reason', async () => {
  const { averba, world, which, play } = await givenStory('PENDENTE')
  const giveUp = (reason: string) => averba.consents.withdrawEnd(which, { reason })
  await refuses('REFUSED', giveUp('engano'))
  await play('changes lost, deny unknown, 1 min, settle, sent 1, health bad')
  const waiting = { type: 'consentService.changeStatus', reason: 'asked again: a reading showed that it was not made' }
  expect(await averba.effects.list()).toContainEqual(expect.objectContaining(waiting))
  const message = expect.stringContaining('withdrawEnd gives it up')
  await refuses('REFUSED', averba.consents.approve(which), { message })
  for (const reason of ['', undefined as never]) await refuses('INVALID_INPUT', giveUp(reason))
  await giveUp('a pessoa desistiu')
  await play('changes now, 2 d, settle, sent 1, health ok, approve settled, is active')
  expect(await eventsOf(world, 'consent.endWithdrawn')).toMatchObject([{ parts: [{ name: 'why' }] }])
})

test('waits between repeated requests for an end grow to a day, and after thirty days a person decides', async () => {
  const { world, play } = await givenStory('ATIVO', { averba: { schedules: true } })
  await play('changes lost, revoke unknown, 390 × 2 h')
  const at = (await eventsOf(world, 'consent.changeRepeated')).map(event => Date.parse(event.at))
  const waits = at.slice(1).map((each, i) => (each - (at[i] ?? 0)) / hourMs)
  expect(at.length).toBeGreaterThan(30)
  expect(waits.every((wait, i) => i === 0 || wait >= (waits[i - 1] ?? 0) * 0.9)).toBe(true)
  expect(Math.max(...waits)).toBeLessThan(27)
  await play('use uncertain, health bad, changes now, 2 d, settle, use uncertain, revoke 2 settled, health ok')
})

test('a revocation that cannot be sent is tried for thirty days, and made once the service is well again', async () => {
  const { lines, play } = await givenStory('ATIVO', { averba: { schedules: true } })
  await play('changes busy, revoke deferred, 72 × 1 h, use uncertain, health bad')
  const waiting = { level: 'warn', message: 'denials or revocations are not made yet', times: 1 }
  expect(lines.filter(({ message }) => message === waiting.message)).toEqual([waiting, waiting, waiting])
  await play('changes now, 2 × 1 h, is revoked, health ok')
})

test.each([
  ['with a later time', 'changes lost, deny unknown', 'person ATIVO', 0],
  ['without a time', 'changes lost, deny unknown', 'details shortened, person ATIVO', 0],
  ['by a clock that is behind', 'changes lost, deny unknown', 'person ATIVO', -9],
  ['while the denial is deferred', 'changes busy, deny deferred', 'person ATIVO, list', 0],
])('an approval that may be later than the denial is not undone, and blocks: %s', async (_, deny, approve, skewMin) => {
  const { averba, faults, play } = await givenStory('PENDENTE', { policies })
  if (skewMin) await faults.add({ kind: 'clockSkew', service: 'consentService', ms: skewMin * minuteMs })
  await play(`${deny}, 1 s, ${approve}, changes now, 1 min, settle, 2 d, settle, sent 1, use uncertain, health bad`)
  expect((await checkOf(averba, 'consents'))?.detail).toMatch(/; for 1 without an open request decide by /)
})

test.each([
  ['a day', {}, 24],
  ['as long as the option says', { approvalMaxMs: 6 * hourMs }, 6],
])('an approval that is never made is asked for again for %s, and then told as given up', async (_, option, hours) => {
  const averba = { consentService: consentServiceWith(option) }
  const { clock, lines, world, play } = await givenStory('PENDENTE', { averba })
  const began = clock.now()
  await play(`changes lost, approve unknown, 60 × 1 h, is pending`)
  const unmade = (await eventsOf(world, 'consent.changeNotMade')).map(({ data }) => data)
  expect(unmade.map(data => 'isGivenUp' in data && data.isGivenUp)).toEqual(
    unmade.map((_, i) => i === unmade.length - 1),
  )
  const repeats = await eventsOf(world, 'consent.changeRepeated')
  expect(repeats.every(({ at }) => Date.parse(at) <= began + hours * hourMs)).toBe(true)
  expect(repeats.length).toBeGreaterThan(1)
  expect(lines.at(-1)?.message).toContain('is not asked for again: approve it again, or leave it')
  await play('changes now, approve 2 settled, is active')
})

test.each([
  ['parked after as long as the option says', 3, 'refuse changes, approve deferred, 12 × (1 h; settle)', 'pending', 1],
  ['sent within as long as the option says', 72, 'refuse changes, approve deferred, 48 × (1 h; settle)', 'active', 0],
])('an approval that cannot be sent is %s', async (_, hours, story, end, told) => {
  const consentService = consentServiceWith({ approvalMaxMs: hours * hourMs })
  const { lines, play } = await givenStory('PENDENTE', { averba: { consentService } })
  await play(`${story}, reach, 1 h, settle, is ${end}`)
  expect(lines.filter(({ message }) => message.startsWith('a call is parked'))).toHaveLength(told)
})

test('an erasure that would give up a revocation is refused unless it says so, and its receipt counts it', async () => {
  const { averba, subject, play } = await givenStory('ATIVO')
  const { erase, receipt } = averba.subjects
  await play('changes lost, revoke unknown')
  await refuses('REFUSED', erase({ subject }, erasure), {
    message: 'Cannot erase: a denial or revocation has not been made at the service, and nobody would ask for it',
    hint: expect.stringContaining('givesUpEnds'),
  })
  expect(await receipt(subject)).toBeUndefined()
  expect(await erase({ subject }, { ...erasure, givesUpEnds: true })).toMatchObject({ endsGivenUp: 1 })
  await play('changes now, 2 d, settle, sent 1, health ok')
})

test('an erasure after a made revocation gives up nothing', async () => {
  const { averba, subject, play } = await givenStory('ATIVO')
  await play('revoke settled')
  expect(await averba.subjects.erase({ subject }, erasure)).toMatchObject({ endsGivenUp: 0 })
})

tell({
  'an instant at which a revocation was wanted stays blocked once it is given up': `
    mark before, 1 h, changes busy, revoke deferred, 10 min, mark wanted, 10 min, give up, settle, 10 min, list, mark after,
    at before active, at wanted uncertain, at after active, 1 h, list, approve REFUSED, at wanted uncertain`,
})

describe('a revocation that is given up on its way blocks until a reading shows what became of it: it', () => {
  const givenUp = 'give up, is uncertain, use uncertain, approve REFUSED, open 1'
  tell({
    'was made': `changes made, hold changes back, begin revoke, ${givenUp}, is revoked, sent 1, health ok`,
    'was not made': `changes lost, hold changes back, begin revoke, ${givenUp}, is uncertain, 1 min, settle, is active,
      sent 1, health ok`,
    'was refused': `changes 400, hold changes, begin revoke, ${givenUp}, settle, is active, sent 1, health ok`,
    'was made and answered': `hold changes back, begin revoke, ${givenUp}, is revoked, sent 1, health ok`,
    'waits after the answer 503': `changes busy, hold changes, begin revoke, ${givenUp}, 1 h, changes now, settle,
      is active, sent 1, health ok`,
    'was answered by a gateway': `changes behind, hold changes back, begin revoke, give up, open 1, details 503, 15 min,
      settle, use uncertain, details now, 1 h, settle, is revoked, sent 1, health ok`,
  })
})

/** What stands before the service passes a change on, or not, and answers for itself. */
describe('a gateway', () => {
  const denied = 'deny deferred, changes now, approve REFUSED, use pending, 1 h, settle, is denied, health ok, given up'
  const unread = 'details 503, give up, settle, changes now, use uncertain, details now, 1 h, settle'
  const onceSent = 'health ok, sent 1, given up sentBefore'
  tell({
    'that passed on a denial which it answered leads to no approval': `PENDENTE: changes behind, ${denied}`,
    'that kept back a denial which it answered leads to no approval': `PENDENTE: changes page, ${denied}`,
    'that passed on a revocation has a reading precede any use once that is given up': `
      changes behind, revoke deferred, ${unread}, is revoked, ${onceSent}`,
    'that passed on a revocation has a reading precede any use once that is parked and given up': `
      changes behind, revoke deferred, park, ${unread}, is revoked, ${onceSent}`,
    'that kept back a revocation has a reading precede any use once that is given up': `
      changes page, revoke deferred, ${unread}, is active, ${onceSent}`,
  })
})

describe('what is asked for', () => {
  const nothing = 'give up, changes now, 1 h, settle, 2 d, settle, not made 1, sent 1'
  const approved = 'person ATIVO, 11 min'
  const onItsWay = (verb: string) => `changes busy, hold changes back, begin ${verb}, give up, open 1, changes now`
  const relisted = 'details 404, lists now, list, 2 h, settle, details now, 3 × (1 h; sync)'
  tell({
    'is nothing after a lost denial was given up': `
      PENDENTE: changes lost, deny unknown, ${nothing}, is pending, health ok`,
    'is nothing after a lost revocation was given up': `
      changes lost, revoke unknown, ${nothing}, is active, health ok`,
    'is a revocation if an approval is certainly from before a lost denial': `
      PENDENTE: ${approved}, changes lost, deny unknown, changes now, 1 h, settle, 1 h, settle, sent 2, is revoked`,
    'is a revocation if an approval is certainly from before a deferred denial': `
      PENDENTE: ${approved}, changes busy, deny deferred, changes now, list, 1 h, settle, 1 h, settle, sent 2,
      is revoked`,
    'is a newer revocation, which an end from before it does not end': `
      full, changes 400, revoke declined 400, 2 d, person REVOGADO, 1 h, person ATIVO, 1 h, changes busy,
      revoke 2 deferred, full, use uncertain, health bad`,
    'is an older denial that was sent, which refuses an approval': `
      PENDENTE: changes lost, deny unknown, 1 min, settle, changes busy, deny 2 deferred, approve REFUSED`,
    'is not sent by the same command again': `
      PENDENTE: changes lost, deny unknown, 1 min, settle, 1 h, changes now, deny declined NOT_DONE, sent 1`,
    'is a refused denial and a newer one that never left, which refuse an approval': `
      PENDENTE: full, changes 400, deny declined 400, settle, changes now, refuse changes, deny 2 deferred, reach,
      approve REFUSED`,
    'is a denial that a gateway answered and a newer one that never left, which refuse an approval': `
      PENDENTE: changes behind, deny deferred, changes now, refuse changes, deny 2 deferred, reach, approve REFUSED`,
    'is nothing, but a reading first, after a revocation that a gateway answered and a newer one were given up': `
      changes behind, revoke deferred, details 503, refuse changes, revoke 2 deferred, give up, use uncertain, reach,
      details now, 1 h, settle, is revoked`,
    'is an approval in place of two denials that never left, and they are recorded as withdrawn': `
      PENDENTE: refuse, deny deferred, deny 2 deferred, reach, approve settled, deny declined WITHDRAWN, use active,
      health ok, given up isUnsent`,
    'is nothing, but a reading first, after a revocation was given up on its way, and a newer one': `
      ${onItsWay('revoke')}, details 503, refuse changes, revoke 2 deferred, give up, use uncertain`,
    'is no approval in place of a denial that was given up on its way': `PENDENTE: ${onItsWay('deny')}, approve REFUSED`,
    'is a reading by each list after one of an unreadable status was parked': `
      PENDENTE: changes lost, details 503, approve unknown, lists twice ATIVO, list, 27 × (1 h; settle), all now, count,
      list, settle, asked 1`,
    'is an end although a reading that left before it shows one': `
      lists as REVOGADO, hold lists back, begin list, 1 s, changes busy, details 404, revoke deferred, 1 s, open 1,
      settle, is revoked, health bad, changes now, lists now, details now, 1 h, settle, sent 2, is revoked, health ok`,
    'is nothing more once a reading that left later shows an end too': `
      lists as REVOGADO, hold lists back, begin list, 1 s, changes 400, details 404, revoke declined 400, 1 s, open 1,
      settle, is revoked, health bad, person REVOGADO, lists now, details now, full, is revoked, health ok, sent 1`,
    'is an end after it vanished and one reading was declined': `
      changes busy, revoke deferred, lists without, list, 2 h, settle, sent 1, changes now, ${relisted}, sent 2,
      is revoked, health ok`,
    'is an end as another one after one reading was declined': `
      PENDENTE: changes busy, ${approved}, deny deferred, changes now, ${relisted}, sent 3, is revoked, health ok`,
    'is an end that was never sent before the consent vanished, after a declined reading too': `
      refuse changes, revoke deferred, lists without, list, 2 h, settle, details 404, lists now, list, settle, reach,
      use uncertain, health bad, details now, 3 × (1 h; sync), is revoked, health ok`,
    'is an end that was asked for after it vanished, however long that lasts': `
      lists without, list, approve REFUSED, revoke pending, is vanished, health bad, 40 d, settle, lists now, list,
      use uncertain, 3 × (1 h; sync), sent 1, is revoked, health ok, revoke settled`,
    'is an end that was asked for after it vanished, of a consent that was uncertain': `
      details 503, lists as PENDENTE, list, lists without, list, deny pending, all now, 3 × (1 h; sync), is revoked`,
    'is no end that was given up before it was sent, nor one after an end': `
      lists without, list, revoke pending, lists now, sync, give up, given up isUnsent, revoke declined WITHDRAWN, 2 d, settle,
      is active, health ok, person REVOGADO, list, settle, lists without, list, revoke 2 REFUSED, sent 0, not made 0`,
    'is an approval in place of a denial that was not sent while the consent was not listed': `
      PENDENTE: lists without, list, deny pending, lists now, list, approve settled, use active, health ok`,
    'is no end again after thirty days, although the consent vanishes and is listed again': `
      changes 503, revoke unknown, 40 × (1 d; sync), changes now, lists without, list, lists now, 5 × (1 d; sync),
      use uncertain, health bad`,
    'is no end again that the service refused, when the consent is listed again': `
      full, changes 400, revoke declined 400, settle, lists without, list, lists now, 1 h, list, 2 d, settle, sent 1,
      use uncertain, health bad`,
    'is no end of an approval from after it when the consent is listed again': `
      PENDENTE: changes 503, deny unknown, 1 min, settle, lists without, list, 1 h, settle, person ATIVO, 1 h, settle,
      changes now, lists now, list, 2 d, settle, use uncertain, health bad`,
  })
})

describe('a revocation that was asked for while the clock was ahead is over once it is made', () => {
  tell({
    'answered by a gateway': `clock +1 d, changes page, revoke deferred, clock -1 d, changes now, 2 d, settle, list,
      is revoked, health ok`,
    lost: `clock +1 d, changes lost, revoke unknown, clock -1 d, changes now, 1 h, settle, 1 h, settle, 1 h, list,
      is revoked, health ok`,
    'made by the person meanwhile': `clock +1 d, changes busy, revoke deferred, clock -1 d, person REVOGADO, list, 1 h,
      list, is revoked, health ok`,
  })
})

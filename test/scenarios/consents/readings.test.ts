import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventsOf } from '../../support/events-of.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { givenStory, type Shown, tell } from './story.ts'

/** Read in a list and in full, with a copy of that. */
const read = 'full, sync, 1 h, copy'
/** Revoked, and given again. The copy still shows the revocation. */
const anew = 'full, sync, 1 h, person REVOGADO, sync, 1 h, sync, copy, person ATIVO, 5 s, sync, is active, 5 s'
/** Read as revoked. Then the person gives it again. */
const back = '1 h, sync, person REVOGADO, 1 h, sync, 1 ms, is revoked, person ATIVO'
/** Revoked while the history cannot be read, which it can be again after a day. */
const unreadForADay = `person REVOGADO, list, 26 × 1 h, moves revoked:service, is revoked, shown REVOGADO known,
  details now, retry, settle, moves revoked:service`

describe('a reading that overlaps a newer one is read again instead of being believed', () => {
  tell({
    'two readings in full, of which the older one shows the revocation':
      'hold details, begin full, full, 1 s, person REVOGADO, open 1, use revoked',
    'two readings in full, of which the newer one shows that the consent was given again': `
      1 s, person REVOGADO, 2 s, hold details back, begin full, 2 s, person ATIVO, full, is active, open 1, 2 min,
      settle, use active, moves`,
    'a list with the revocation, and a reading in full from before it that ended sooner':
      'hold lists, begin list, full, person REVOGADO, open 1, use revoked',
    'a list from before our revocation, while the history cannot be read':
      'hold lists back, begin list, revoke settled, details lost, open 1, use revoked, shown REVOGADO changed',
    'a list from before our revocation':
      'hold lists back, begin list, revoke settled, open 1, use revoked, shown REVOGADO known',
    'a list with the revocation, during which a use is recorded':
      'person REVOGADO, hold lists back, begin list, use active, open 1, use revoked',
    'a list with an earlier expiry, and a reading in full from before that': `
      hold details back, hold lists back, begin full, 2 s, lists expiring 2026-11-20T12:00:30.000Z,
      details expiring 2026-11-20T12:00:30.000Z, begin list, open 1, open 2, 2 min, settle, use expired`,
    'a list without the consent, and a reading in full from before that': `
      hold details back, hold lists back, begin full, 2 s, lists without, details 404, begin list, open 1, open 2,
      2 min, settle, use uncertain, list, use vanished`,
    'an older list, then one with the revocation, while the history is refused': `
      PENDENTE: hold lists back, hold lists back, hold details, details 403, person ATIVO, begin list, 1 s,
      person REVOGADO, begin list, open 1, open 2, 100 ms, open 3, settle, use revoked, is revoked,
      shown REVOGADO known`,
  })
})

describe('an end that one reading shows counts, whatever the others show', () => {
  tell({
    'in full, while an older list is in doubt and its own reading is refused': `
      full, sync, hold details, lists expiring 2028-11-20T12:00:00.000Z, begin list, 1 s,
      lists expiring 2027-01-01T00:00:00.000Z, begin list, 1 s, person REVOGADO, open 1, 1 s, details 403, settle,
      use revoked`,
    'in full, of an unlisted consent that an older list shows again': `
      ${read}, hold details, begin full, lists empty, list, person REVOGADO, open 1, 1 s, lists old, list, use revoked`,
    'also after one that was in doubt, while a full reading is on its way': `
      ${read}, details 503, lists as EXPIRADO, list, lists now, 2 min, details now, hold details back, begin settle,
      1 s, person REVOGADO, list, open 1, 1 s, settle, use revoked`,
    'in full, before our late approval of a consent that was unlisted': `
      PENDENTE: ${read}, hold changes back, begin approve, 1 s, hold details, begin full, 1 s, lists empty, list,
      person REVOGADO, open 2, 1 s, count, open 1, 1 s, settle, is revoked, shown REVOGADO known, asked 1`,
    'unreadably, although an older full reading is readable': `
      ${read}, details expiring 2029-01-01T00:00:00.000Z, hold details back, begin full, 1 s, lists twice REVOGADO,
      list, is uncertain, details 403, open 1, settle, use uncertain`,
    'in a slow list, for a minute from then': `
      ${read}, details 503, hold lists, begin list, 28 s, person REVOGADO, open 1, 1 s, use revoked, details old, 33 s,
      settle, use revoked`,
    'in the slow answer to our revocation, for a minute from then': `
      ${read}, hold changes, begin revoke, 61 s, open 1, 1 s, is revoked, lists old, details old, 5 s, sync,
      use revoked`,
    'in a list alone, until a reading in full shows otherwise, which is an anomaly': `
      ${read}, lists as REVOGADO, details 503, list, 2 min, all now, sync, use active,
      anomaly a reading had shown REVOGADO`,
  })
})

describe('an answer to a change that comes after a reading', () => {
  tell({
    'does not make a revoked consent effective again': `
      PENDENTE: hold changes back, begin approve, list, 1 s, person REVOGADO, list, open 1, approve settled,
      use revoked, settle, use revoked`,
    'does not end the doubt about a revocation requested since': `
      PENDENTE: hold changes back, begin approve, list, hold changes, begin revoke, use uncertain, open 1,
      approve settled, use uncertain, open 2, revoke settled, shown REVOGADO known`,
    'and is lost does not end that doubt either': `
      PENDENTE: changes made, hold changes back, begin approve, list, hold changes, begin revoke, changes now,
      use uncertain, open 1, approve settled, use uncertain, open 2, revoke settled, shown REVOGADO known`,
    'and shows another status, while the consent is unlisted and in doubt, is asked for again': `
      full, sync, details 503, hold changes back, changes answered ATIVO, begin revoke, lists as PENDENTE, 1 s, list,
      lists empty, 1 s, list, open 1, 1 s, all now, 3 × (1 h; sync; settle), is revoked, shown REVOGADO known`,
  })
})

describe('an older copy does not undo within a minute', () => {
  tell({
    'an end whose history is refused': `
      ${read}, person REVOGADO, details 403, sync, is revoked, 5 s, lists old, sync, is revoked`,
    'our answered revocation, in a list': `
      ${read}, revoke settled, lists old, details old, 5 s, sync, is revoked, all now, 1 min, settle, list,
      is revoked, moves revoked:us`,
    'our answered revocation, in full, however old the history is': `
      ${read}, person REVOGADO, 1 s, person ATIVO, full, 1 h, revoke settled, 5 s, details old, full, is revoked`,
    'an end in the history that is ours': `
      ${read}, changes made, revoke settled, is revoked, lists old, details old, 5 s, sync, use revoked, all now,
      1 min, settle, is revoked, moves revoked:us`,
    'an end in the history that is of the person': `
      ${read}, person REVOGADO, sync, is revoked, lists old, details old, 5 s, sync, use revoked, all now, 1 min,
      settle, is revoked, moves revoked:service`,
    'an end that a list showed after our lost revocation': `
      ${read}, changes made, details 503, revoke unknown, 1 s, sync, lists old, details old, 5 s, sync, use uncertain,
      all now, 1 h, settle, list, is revoked`,
    'an end of the person that a list showed': `
      ${read}, person REVOGADO, details old, 1 s, sync, lists old, 5 s, sync, use revoked, all now, 1 h, settle, list,
      is revoked`,
    'our lost revocation, which is settled within 90 seconds when copies lag by ten': `
      ${read}, changes made, lists old, details old, revoke unknown, 10 s, sync, all now, 80 s, settle, is revoked,
      moves revoked:us, shown REVOGADO known`,
    'the end of a relisted consent': `
      ${read}, lists empty, sync, person REVOGADO, lists now, 1 min, sync, is revoked, 5 s, lists old, details old,
      sync, is revoked`,
    'an end from a list, although the consent was once unlisted since': `
      ${read}, person REVOGADO, details 503, sync, 5 s, lists empty, sync, 5 s, lists old, sync, is revoked,
      lists now, sync, is revoked`,
    'a recorded end, although the consent was once unlisted since': `
      full, sync, 1 h, copy, person REVOGADO, sync, is revoked, 5 s, lists empty, sync, 5 s, lists old, sync,
      is revoked, use revoked, lists now, sync, shown REVOGADO known`,
    'an expiry that was shortened': `
      full, sync, copy, lists expiring 2026-11-20T12:20:00.000Z, details expiring 2026-11-20T12:20:00.000Z, full, 1 h,
      full, is expired, lists old, sync, is expired`,
  })
})

describe('an older copy that shows an earlier end does not settle', () => {
  tell({
    'a deferred revocation, which is sent': `
      ${anew}, changes busy, revoke deferred, 5 s, lists old, sync, all now, 1 h, sync, revoke settled, is revoked,
      sent 2`,
    'a deferred revocation, but a newer end does, also if the consent is given again': `
      ${anew}, full, changes busy, revoke deferred, person REVOGADO, 5 s, sync, person ATIVO, changes now, 1 h, sync,
      revoke settled, sent 1, is active`,
    'a lost revocation, which is reported as not made': `
      ${anew}, changes lost, details 503, revoke unknown, 5 s, lists old, sync, all now, 1 h, sync,
      revoke declined NOT_DONE, health bad`,
  })
})

describe('a history', () => {
  tell({
    'does not record answered changes again':
      'PENDENTE: full, 1 h, approve settled, 1 h, revoke settled, 1 h, full, moves approved:us revoked:us',
    'records once what happened after an answered change': `
      PENDENTE: full, approve settled, 1 h, person REVOGADO, 1 h, person ATIVO, 1 h, full, 1 h, full,
      moves approved:us revoked:service conflicted:service`,
    'is followed although its newest entry was taken back: by the daily reading':
      'details extended EXPIRADO, full, 1 h, is expired, details now, 28 × (1 h; sync), is active',
    'that is read late announces an end from a list, even if the consent was given again': `
      details 503, 1 h, person REVOGADO, list, 1 min, person ATIVO, details now, 1 h, settle,
      moves revoked:service conflicted:service`,
    'that cannot be read yet leaves the end that a list showed': `
      ${read}, details 503, person REVOGADO, sync, person ATIVO, 2 min, sync, is revoked, details 403, 2 h, sync,
      is revoked, details now, sync, is active, use active, revoke settled`,
    'that cannot be read yet follows the status, which is shown at once': `
      details lost, person REVOGADO, list, shown REVOGADO changed, is revoked, revoke REFUSED, details now, 1 h,
      settle, shown REVOGADO known`,
    'that the service refuses leaves the status of the list':
      'details 403, person REVOGADO, list, moves revoked:service, shown REVOGADO known',
    'that the service refuses ends the doubt of a later expiry, also after an unreadable list':
      'full, details 403, lists as SUSPENSO, list, lists expiring 2028-11-20T12:00:00.000Z, list, use active',
    'that cannot be read for a day leaves the status of the list: 500': `details 500, ${unreadForADay}`,
    'that cannot be read for a day leaves the status of the list: garbage': `details garbage, ${unreadForADay}`,
    'of a consent whose listed status is unreadable is read again by the next list, even after a day of failures':
      'details 500, lists as SUSPENSO, list, 26 × 1 h, is uncertain, details now, list, is active',
    'that contradicts the lists is read again, even after days of failures, and no more once it agrees': `
      ${back}, details 500, 50 × (1 h; sync), 1 ms, is revoked, details now, 26 × (1 h; sync), 1 ms, is active, count, 48 × (1 h; sync),
      asked 0`,
    'that keeps contradicting the lists is read once for each list': `
      ${back}, details shortened, 1 h, sync, 1 ms, is revoked, count, 24 × (1 h; sync), asked 24, 1 ms, is revoked`,
    'that contradicts the lists and is refused is requested again by the next list': `
      ${back}, details 403, 26 × (1 h; sync), 1 ms, is revoked, details now, 1 h, sync, 1 ms, is active`,
    'that was read while the clock was ahead does not delay the next reading': `
      ${back}, details shortened, clock +40 d, 1 h, sync, clock -40 d, use revoked, details now, 1 h, sync, use active`,
  })
})

describe('what the contract does not foresee is recorded as an anomaly', () => {
  tell({
    'another status': '1 min, person PENDENTE, list, anomaly no move leads from ATIVO to PENDENTE',
    'a status that it does not have': 'lists as SUSPENSO, list, anomaly records could not be read',
    'a consent that is no longer listed': 'lists without, list, anomaly the service no longer lists it',
  })
})

/** Of a withdrawal when no end is wanted. */
function ignoreRefusal(error: { readonly code: string }): void {
  expect(error.code).toBe('REFUSED')
}

const reasons: Record<string, string> = { ATIVO: 'active', REVOGADO: 'revoked', EXPIRADO: 'expired' }

/** Anything that may happen to readings of a consent. None of them waits for an answer that is held. */
const event = fc.constantFrom(
  ...['2 s, person ATIVO', '2 s, person REVOGADO', '2 s, person EXPIRADO', 'begin list', 'begin full', 'begin revoke'],
  ...['begin settle', 'hold lists, begin list', 'hold lists back, begin list', 'hold details, begin full'],
  ...['hold details back, begin full', 'open 1', 'open 2', 'open 3', 'open all', '1 s', '5 s', '40 s', '70 s', '1 h'],
  ...['copy', 'lists old', 'details old', 'lists old, details old', 'lists 503', 'details 503', 'details 403'],
  ...['lists without, begin list', 'lists old, begin list', 'lists now', 'details now', 'all now', 'begin full, copy'],
  'lists expiring 2028-01-01T00:00:00Z, begin list',
)

/** Whether an answer lets a consent be used again that another one showed as ended: in full, and late or explained. */
function reopens(end: Shown, { kind, status, askedMs, history }: Shown): boolean {
  const isExplained = history.at(-1) === 'ATIVO' && history.includes(end.status ?? '')
  return kind === 'details' && status === 'ATIVO' && (isExplained || askedMs >= end.answeredMs + minuteMs)
}

test('whatever readings show in any order, an end that one showed counts until a later one shows otherwise', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(event, { maxLength: 16 }), async events => {
      const { world, which, shown, play, end } = await givenStory('ATIVO')
      const { averba, consentService, samples } = world
      await play('copy')
      for (const each of events) {
        await play(each)
        const { reason } = await averba.consents.standing(which)
        const last = shown.toSorted((a, b) => a.number - b.number).findLast(({ status }) => status !== undefined)
        if (reason === 'active' && last) expect(last.status).toBe('ATIVO')
        const ends = shown.filter(({ status }) => status !== undefined && status !== 'ATIVO')
        const open = ends.filter(end => !shown.some(each => reopens(end, each)))
        if (open.length > 0) expect([reason, ...open]).not.toContain('active')
      }
      await play('all now')
      await end()
      await play('2 min, sync, 1 h, sync, 1 h, sync')
      // An end that the service declined, or before an approval, blocks until a person decides.
      const [declined] = await eventsOf(world, 'consent.changeDeclined')
      if (declined || events.some(each => each.includes('person ATIVO')))
        await averba.consents.withdrawEnd(which, { reason: 'a pessoa desistiu' }).catch(ignoreRefusal)
      const truth = consentService.statusOf(samples.cpf, which.id) ?? ''
      await play(`is ${reasons[truth]}, shown ${truth} known`)
    }),
    { numRuns: 25, examples: [[['2 s, person REVOGADO', 'details 503', 'begin revoke', '2 s, person ATIVO']]] },
  )
})

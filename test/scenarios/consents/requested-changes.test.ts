import { describe } from 'vitest'
import { tell } from './story.ts'

/** Revoked by the person and given again before our revocation, unread by us. */
const reopened = 'full, 1 h, person REVOGADO, 1 h, person ATIVO, 1 h'
/** Our revocation is deferred while lists lack the consent, show an older status, and then show it again. */
const listedAgain = `changes busy, revoke deferred, lists without, 1 min, list, lists as PENDENTE, 1 min, list, lists now,
  1 min, list`

describe('a deferred change', () => {
  tell({
    'allows no use if it is a denial, whatever a list shows, and is not sent once the consent is active': `
      PENDENTE: changes busy, deny deferred, lists without, 1 min, list, lists now, person ATIVO, 1 min, list,
      is uncertain, use uncertain, changes now, 2 h, settle, sent 1, deny declined WITHDRAWN, is uncertain,
      health bad, revoke settled, is revoked, health ok`,
    'allows no use if it is a revocation, whatever a list shows': `
      ${listedAgain}, is uncertain, use uncertain, changes now, 2 h, settle, sent 2, revoke settled`,
    'that is made later although its answer is lost is settled': `
      ${listedAgain}, changes made, 2 h, settle, revoke settled, use revoked`,
    'of an unlisted consent is sent once it is listed again': `
      changes busy, revoke deferred, lists without, list, is vanished, unlisted, changes now, 1 h, settle,
      revoke declined NOT_LISTED, sent 1, health bad, lists now, list, is uncertain, settle, 1 min, settle,
      is revoked, sent 2, health ok`,
    'of a consent that is listed again allows no use, and is sent': `
      changes busy, revoke deferred, lists without, 5 s, list, is vanished, lists now, 5 s, list, is uncertain,
      shown ATIVO changing, use uncertain, changes now, 1 h, settle, revoke settled, is revoked`,
    'that is lost while the consent is unlisted stays in doubt when it is listed again': `
      changes busy, revoke deferred, lists without, list, changes lost, 1 h, settle, is vanished, unlisted, lists now,
      list, is uncertain`,
    'is sent although an older copy once showed another status': `
      PENDENTE: approve settled, changes busy, revoke deferred, lists as PENDENTE, list, lists now, list,
      use uncertain, changes now, 2 h, settle, sent 3, revoke settled, is revoked, use revoked, withheld 0`,
    'does not end a consent that was given again after an end was shown': `
      changes busy, revoke deferred, 10 min, person REVOGADO, list, is revoked, 10 min, person ATIVO, list, is active,
      changes now, 1 h, settle, sent 1, revoke settled, withheld 1, list, is active`,
    'is not settled by an end from before it that is read after it': `
      ${reopened}, changes busy, revoke deferred, full, use uncertain, changes now, 2 h, settle, sent 2,
      revoke settled`,
    'is sent when the clocks cannot show that an end came after it': `
      details ahead, full, 1 h, person REVOGADO, 1 s, person ATIVO, 31 s, changes busy, revoke deferred, full, 1 min,
      use uncertain, changes now, 1 h, settle, sent 2, revoke settled`,
    'that the service then refuses is reported while the consent is active': `
      full, changes busy, revoke deferred, changes 403, 1 h, settle, revoke declined 403, health bad, changes now,
      revoke 2 settled, health ok`,
    'that an operator retries is not sent once it is obsolete': `
      PENDENTE: changes busy, approve deferred, park, person NEGADO, list, changes now, retry, settle,
      approve declined WITHDRAWN, sent 1`,
    'is withdrawn by another one': `
      PENDENTE: changes busy, approve deferred, changes now, deny settled, approve declined WITHDRAWN, 2 h, settle,
      sent 2, is denied`,
    'is withdrawn by another one even when it is parked': `
      PENDENTE: changes busy, approve deferred, park, changes now, deny settled, approve declined WITHDRAWN, 2 h,
      settle, sent 2, is denied`,
    "is withdrawn by the person's denial, which is sent when the consent is listed again": `
      PENDENTE: changes busy, approve deferred, lists without, list, deny pending, approve declined WITHDRAWN, unlisted,
      lists now, list, settle, shown PENDENTE changing, changes now, 2 h, settle, sent 2, is denied, use denied`,
    "is withdrawn by the person's denial, which blocks when the consent is listed again as approved": `
      PENDENTE: changes busy, approve deferred, lists without, list, deny pending, 1 min, person ATIVO,
      lists now, 1 min, list, use uncertain, changes now, settle, 2 d, settle, is uncertain, health bad`,
  })
})

describe('a change whose answer is lost', () => {
  tell({
    'is found by a reading and never sent twice':
      'PENDENTE: changes made, approve settled, shown ATIVO known, sent 1, approve settled, sent 1',
    'is not made only once a reading begun a minute later does not show it': `
      changes 504, revoke unknown, use uncertain, 3 s, person REVOGADO, 1 min, settle, revoke settled, use revoked,
      moves revoked:us`,
    'and was not made may be requested again': `
      PENDENTE: changes lost, approve unknown, 1 min, settle, approve declined NOT_DONE, changes now,
      approve 2 settled, sent 2`,
    'is in doubt while nothing can be read, and no other is sent': `
      lists lost, details lost, changes lost, revoke unknown, shown ATIVO uncertain, revoke 2 REFUSED, sent 1,
      all now, 1 h, settle, revoke declined NOT_DONE, is uncertain, 1 min, settle, sent 2, is revoked`,
    'is shown as not made by a reading a minute later, and its end is asked for again: a denial': `
      PENDENTE: changes busy, deny deferred, changes lost, 1 h, settle, person ATIVO, 5 s, sync, is uncertain,
      use uncertain, deny unknown, 1 min, settle, deny declined NOT_DONE, is uncertain, not made 1, health bad,
      changes now, 2 d, settle, is uncertain, revoke settled, health ok`,
    'is shown as not made by a reading a minute later, and its end is asked for again: a revocation': `
      changes busy, revoke deferred, lists as PENDENTE, list, lists now, changes lost, 1 h, settle, 5 s, sync,
      is uncertain, use uncertain, revoke unknown, 1 min, settle, revoke declined NOT_DONE, is uncertain, not made 1,
      health bad, changes now, 2 min, settle, is revoked, health ok`,
    'and was not made waits for a person once somebody approved the consent after it': `
      PENDENTE: changes lost, deny unknown, 1 min, settle, health bad, 1 h, person ATIVO, settle, 1 min, settle, sync,
      is uncertain, changes now, 2 d, settle, is uncertain, health bad, revoke settled, health ok`,
    'is not settled by an end from before it that is read after it': `
      ${reopened}, changes lost, revoke unknown, use uncertain, 1 min, settle, revoke declined NOT_DONE, not made 1,
      moves revoked:service conflicted:service`,
    'is recognised in the history as ours although the consent was given again, even by whole seconds': `
      1 h, 400 ms, changes made, details 503, revoke unknown, 30 s, person ATIVO, details rounded, 2 min, settle,
      revoke settled, moves revoked:us conflicted:service, is active`,
    'is recognised in the history as ours although the person then revoked, even by whole seconds': `
      PENDENTE: 1 h, 400 ms, changes made, details 503, approve unknown, 30 s, person REVOGADO, details rounded, list,
      2 min, settle, approve settled, moves approved:us revoked:service, use revoked`,
    'is recognised in the history after an earlier change with another answer': `
      full, changes answered ATIVO, revoke settled, 1 min, settle, not made 1, changes made, lists lost, details lost,
      revoke 2 unknown, 20 s, person ATIVO, all now, 1 h, settle, revoke 2 settled,
      moves revoked:us conflicted:service`,
    'is ended by lists when no history can be read': `
      PENDENTE: details 403, lists 403, changes lost, deny unknown, settle, all now, person ATIVO, 1 min, list,
      not made 1, revoke settled`,
    'of a consent that is listed again allows no use until a reading ends the doubt': `
      changes lost, revoke unknown, lists without, 5 s, list, is vanished, lists now, 5 s, list, is uncertain,
      shown ATIVO uncertain, use uncertain, 1 h, settle, revoke declined NOT_DONE, is uncertain`,
    'while the clock was ahead is in doubt only until the clock is corrected': `
      clock +40 d, changes lost, revoke unknown, settle, revoke unknown, clock -40 d, 1 h, sync,
      revoke declined NOT_DONE, use uncertain`,
    'is declined if a reading contradicts it': `
      PENDENTE: changes lost, person EXPIRADO, person REVOGADO, approve declined NOT_DONE,
      anomaly no move leads from EXPIRADO to REVOGADO`,
  })
})

describe('a change that is answered', () => {
  tell({
    'with the opposite of what was requested does not end the doubt': `
      changes answered ATIVO!, revoke settled, changes now, use uncertain, shown ATIVO uncertain, 1 min, settle,
      use revoked`,
    'with the opposite is reported as not made by the reading a minute later': `
      changes answered ATIVO, revoke settled, 5 s, list, is uncertain, not made 0, 1 min, settle, not made 1,
      anomaly whose answer did not show it, health bad`,
    'with a refusal leaves the consent in doubt until it is read':
      'person REVOGADO, lists lost, details lost, revoke declined 400, use uncertain, all now, 1 h, settle, use revoked',
    'before the consent is given again leaves it effective a minute later':
      'revoke settled, 5 s, person ATIVO, list, is revoked, 1 min, settle, is active',
    'is not withdrawn while it is being sent':
      'PENDENTE: hold changes, begin approve, deny REFUSED, open 1, approve settled, shown ATIVO known',
  })
})

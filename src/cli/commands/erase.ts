import { AverbaError, type ErasureReceipt, type PartKind } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { sourceOptions, withLog } from '../load-config.ts'
import { actorOption, cpfNote, numberReader, readActor, readSubject, rejectOptions, subjectOption } from '../options.ts'

/** With 0 days all older backups can no longer be opened. */
const readDays = numberReader(/^\d{1,5}$/, 'Cannot use --backups-kept: give a number of up to five digits')

export const eraseCommand = defineCommand({
  usage: 'erase',
  description:
    'Erase a data subject: the key, the sealed parts and their index entries. All events stay. It cannot be undone.',
  options: {
    '--requester <ref>': { text: 'who requested it, such as the number of a request: kept in clear', isRequired: true },
    '--legal-basis <text>': { text: 'the legal basis, such as "LGPD art. 18, VI": kept in clear', isRequired: true },
    ...actorOption,
    ...subjectOption,
    '--keep <kind...>': 'kinds of parts that the law requires to keep, such as validation.result',
    '--give-up-ends': 'erase also when a denial or revocation has not been made: nobody asks for it after that',
    '--backups-kept <days>': {
      text: 'with --store, how many days you keep backups of it and its keyring, 30 by default; else backupRetentionDays says it',
      read: readDays,
    },
    ...sourceOptions,
  },
  example:
    'averba erase --subject 01m7wd7tg0 --actor agent-7 --requester "request 12" --legal-basis "LGPD art. 18, VI"',
  notes:
    `${cpfNote}\n` +
    'Repeated with --subject and the same --keep, the command prints the first receipt again. Repeated without that ' +
    '--keep, it erases what was kept. The services are not informed: revoke consents first.\n' +
    'After an interruption, run this command or an engine again: it continues.\n' +
    'While a denial or revocation of the person has not been made, it is refused without --give-up-ends.\n' +
    'Exit codes: 0 complete, 1 not done, or not complete yet.',
  async run(terminal, { actor, requester, legalBasis, backupsKept, giveUpEnds, subject, keep: kinds, ...source }) {
    const kept = source.store === undefined ? backupsKept : undefined
    const hint = 'The configuration has it: backupRetentionDays'
    rejectOptions({ '--backups-kept': kept }, option => `Cannot use ${option} without --store`, hint)
    const selector = await readSubject(terminal, subject)
    const missing = 'Cannot erase without a subject: give --subject, or a CPF on standard input'
    if ('cpf' in selector && selector.cpf === '') throw new AverbaError('INVALID_INPUT', missing)
    const keep = kinds && { keep: kinds as readonly PartKind[] } // Checked by the API.
    const request = { ...readActor(actor), requester, legalBasis, ...keep, givesUpEnds: giveUpEnds }
    const retention = backupsKept === undefined ? {} : { backupRetentionDays: backupsKept }
    const result = await withLog(terminal, source, ({ subjects }) => subjects.erase(selector, request), retention)
    const code = result.completed ? exitCodes.done : exitCodes.error
    return { result, lines: formatReceipt(terminal.say, result, requester), code }
  },
})

function* formatReceipt(say: Say, receipt: ErasureReceipt, requester: string): Iterable<string> {
  const { subject, erasedAt, keeps, destroyed, completed, epochsDestroyedAt } = receipt
  const { parts, keys, indexRows, calls } = destroyed
  const extent = [say.count(parts.length, 'part'), say.count(keys, 'key'), say.count(indexRows, 'index row')]
  if (receipt.requester !== requester) yield say`It was erased already, on the request of ${receipt.requester}:`
  yield say`Erased ${subject} at ${erasedAt}: ${extent.join(', ')}.`
  if (keeps.length > 0) yield say`Kept, with the key: ${keeps.join(', ')}.`
  const { endsGivenUp } = receipt
  if (endsGivenUp > 0)
    yield say`Given up: ${say.count(endsGivenUp, 'end')} of consents that had not been made at the service.`
  if (calls.length > 0)
    yield say`Cancelled ${say.count(calls.length, 'call')}, pending or unknown: ${calls.join(', ')}.`
  if (!completed) return yield say`Not complete yet: run this command again with --subject, or run an engine.`
  const { rewrapped, epoch, searchedBytes, searchedFor, found, unsearched, copiesOpenUntil } = completed
  yield say`Renewed with epoch ${epoch}: ${say.count(rewrapped, 'other key')}.`
  const pieces = say.count(searchedFor, 'piece')
  yield say`${searchedBytes} bytes of the file were searched for ${pieces}: ${found} found.`
  if (unsearched > 0)
    yield say`Not searched for, since the file was not rewritten: ${say.count(unsearched, 'other part')}. Run VACUUM while nothing uses it.`
  if (keys === 0) yield say`As long as the key is kept, backups of the store can open the data.`
  else if (epochsDestroyedAt === null)
    yield say`Until ${copiesOpenUntil} a backup of the store with a backup of the keyring can open the data.`
  else yield say`Since ${epochsDestroyedAt} no backup can open the data.`
}

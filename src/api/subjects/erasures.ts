import { hash } from 'node:crypto'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { heldOf } from '../../machines/consent/chart.ts'
import { evolveConsent, initialConsent } from '../../machines/consent/consent.ts'
import { formatPartList } from '../../proof/erasure.ts'
import { partPlaceKey } from '../../store/parts/parts.ts'
import { AverbaError, hasCode } from '../../vocabulary/errors.ts'
import { dayMs, toInstant } from '../../vocabulary/instant.ts'
import type { AttemptOutcome, PendingEffect, RecordedEvent } from '../../vocabulary/message.ts'
import { idOfStream, isStreamOf, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { checkPartKinds, type PartKind, partKindOf } from '../../vocabulary/part-kinds.ts'
import type { PerformersOf } from '../../vocabulary/performer.ts'
import { parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { ApiContext } from '../api-context.ts'
import { checkBasis, checkId } from '../arguments.ts'
import { readConsentEvents } from '../consents/consent-events.ts'
import type { KeyEffects, KeyFact } from '../effect-types.ts'
import { type ErasureReceipt, readReceipt } from '../reports/erasure-receipt.ts'
import { checkSelector, type SubjectRef, type SubjectSelector, toSubjectRef } from '../subject-directory.ts'

/** Who requests an erasure, on what basis, and what is kept. */
export interface EraseOptions extends Omit<CommandOptions, 'basis'> {
  /** Who requested it, as an opaque reference to a request, a person or a department. Stored in clear. */
  readonly requester: string
  /** The legal basis, such as `LGPD art. 18, VI`. Stored in clear. */
  readonly legalBasis: string
  /**
   * Kinds of parts that the law requires to keep (LGPD article 16). They stay sealed, together with the key, until a
   * later erasure that does not name them. If there are none, the key is destroyed.
   */
  readonly keep?: readonly PartKind[]
  /**
   * Erases also when a denial or revocation of the person has not been made at the service: nobody asks for it after
   * that. The receipt counts them.
   */
  readonly givesUpEnds?: boolean
}

/** Erasures of data subjects (LGPD article 18, VI). */
export interface Erasures {
  /**
   * Destroys key, parts and index rows of a data subject and cancels their pending calls, in the transaction that
   * records the erasure. Then all other keys are rewrapped, the journal is emptied and the file searched: waited for up
   * to `waitMs`, later completed by `run` or `settle`, as the receipt shows. A subject that was erased before gets the
   * same receipt if `keep` names what was kept.
   *
   * Later commands throw `SUBJECT_ERASED`. Later facts are recorded without personal data. If the CPF occurs again, it
   * is a new subject without a link to the old one.
   *
   * @throws {AverbaError} `REFUSED` while a denial or revocation has not been made, unless `givesUpEnds`; `NOT_FOUND`,
   * `INVALID_INPUT`, also when `keep` names kinds that an earlier erasure destroyed,
   * and this one would destroy what that one kept; `INVALID_CPF`, `PERSONAL_ID` when requester or basis contain a CPF;
   * `COMMAND_REUSED`, also by CPF when that was enrolled again after this command id had erased it
   */
  erase(selector: SubjectSelector, options: EraseOptions): Promise<ErasureReceipt>
  /** The current receipt of an erasure; `undefined` when the subject was not erased. */
  receipt(subject: SubjectRef): Promise<ErasureReceipt | undefined>
}

/** For how many destroyed pieces the file is searched. */
const piecesMax = 256
/** Index rows that stay: they identify no person, and without them a recovery would bring erased failures back. */
const permanentIndexKinds: ReadonlySet<string> = new Set(['recovery'])

export function createErasures(context: ApiContext): Erasures {
  const { commands, engine, store, subjects } = context
  const receipt = (subject: SubjectRef) => readReceipt(store, subject)

  /** Finds the subject, also one with kept parts, or erased under this command id: its CPF is another's by now. */
  async function findErasable(selector: SubjectSelector, commandId: string | undefined): Promise<SubjectRef> {
    if ('cpf' in selector) {
      const isEnrolled = (await store.lookUp('cpf', parseCpf(selector.cpf))) !== undefined
      const before = commandId === undefined ? undefined : await findErasedEvent(commandId)
      const erased = before && toSubjectRef(idOfStream(before.stream))
      if (erased !== undefined && !isEnrolled) return erased
      const subject = await subjects.find(selector)
      // Nobody can tell any more whether it is the same person.
      if (erased !== undefined && erased !== subject) throw otherEnrolment()
      return subject
    }
    const state = await store.owners.stateOf(streamOf('subject', selector.subject))
    if (state !== undefined) return selector.subject
    throw new AverbaError('NOT_FOUND', 'Cannot find the data subject: no one is enrolled under this ref')
  }

  async function findErasedEvent(commandId: string): Promise<RecordedEvent | undefined> {
    const before = await store.receipt(commandId)
    const event = before && (await store.readAt(before.position))
    return event?.type === 'subject.erased' ? event : undefined
  }

  async function requestErasure(subject: SubjectRef, options: EraseOptions): Promise<DecisionRequest> {
    const { requester, legalBasis, keep = [] } = options
    // Checked before the survey: an event about the subject after the survey makes the append fail.
    checkKeepable(await receipt(subject), keep)
    const survey = await store.owners.survey(subject)
    // A destroyed part, which has no ending, does not keep the key.
    const kept = survey.parts.filter(part => keep.some(kind => kind === partKindOf(part)) && part.ending !== undefined)
    const destroyed = survey.parts.filter(part => !kept.includes(part))
    const keeps = keep.filter(kind => kept.some(part => partKindOf(part) === kind))
    const keepsKey = kept.length > 0
    const owner = streamOf('subject', subject)
    const { until, effects, keyEnding } = survey
    const endsGivenUp = await countUnmadeEnds(store, survey.streams)
    if (endsGivenUp > 0 && !options.givesUpEnds) throw unmadeEnds(endsGivenUp)
    const ofKey = keyEnding === undefined || keepsKey ? [] : [keyEnding]
    const indexEntries = survey.indexEntries.filter(({ kind }) => !permanentIndexKinds.has(kind))
    const data = {
      ...{ requester, legalBasis, subject, keeps, kept: kept.map(partPlaceKey), effects },
      ...{
        parts: destroyed.length,
        list: hash('sha256', formatPartList(destroyed), 'hex'),
        ...{ indexRows: indexEntries.length, endsGivenUp },
      },
      // The file is searched for them, the key's first: without the key, the parts are unreadable.
      endings: [...ofKey, ...destroyed.flatMap(part => part.ending ?? [])].slice(0, piecesMax),
    }
    const others = survey.streams.flatMap(stream => {
      const machine = stream.slice(0, stream.indexOf('-'))
      const hasErase = machine === 'consent' || machine === 'validation'
      return hasErase ? [{ stream, message: { type: `${machine}.erase`, data: {} } }] : []
    })
    const { commands, streams } = survey
    const places = kept.map(part => part.position)
    const person = { owner, subject, until, indexEntries, commands, streams, keepsKey, kept: places }
    return {
      targets: [...others, { stream: owner, message: { type: 'subject.erase', data } }],
      destroys: { parts: destroyed, person },
    }
  }

  async function continueErasure(
    selector: SubjectSelector,
    keep: readonly PartKind[],
  ): Promise<ErasureReceipt | undefined> {
    if ('cpf' in selector) return undefined
    const known = await receipt(selector.subject)
    // What was kept stays only if it is named again.
    if (!known?.keeps.every(kind => keep.some(each => each === kind))) return undefined
    const stream = streamOf('subject', selector.subject)
    const pending = await store.effects({ stream, states: ['pending', 'started', 'deferred'] })
    for (const { id, type } of pending) if (type.startsWith('keys.')) await engine.perform(id)
    return receipt(selector.subject)
  }

  return {
    receipt: subject => engine.admit(() => receipt(subject)),
    async erase(selector, options) {
      const { requester, legalBasis, keep = [], givesUpEnds: _, ...ask } = options
      checkSelector(selector)
      checkId(requester, 'requester')
      checkBasis({ purpose: 'erasure', legalBasis })
      checkPartKinds(keep)
      const earlier = await engine.admit(() => continueErasure(selector, keep))
      if (earlier) return earlier
      const subject = await engine.admit(() => findErasable(selector, ask.commandId))
      // No CPF here: the command id outlives the erasure.
      const input = { method: 'subjects.erase', subject, requester, legalBasis, keep: [...keep] }
      await commands
        .send(
          input,
          () => requestErasure(subject, options),
          { ...ask, basis: { purpose: 'erasure', legalBasis } },
          async () => undefined,
        )
        .catch(async error => {
          // Another process has just erased the same person.
          if (!hasCode(error, 'SUBJECT_ERASED') || !(await continueErasure({ subject }, keep))) throw error
        })
      const made = await receipt(subject)
      if (!made) throw new TypeError('An erasure was recorded and has no receipt')
      return made
    },
  }
}

/** Counts the consents whose end is wanted and was not shown as made. One that was withdrawn is given up already. */
async function countUnmadeEnds(store: ApiContext['store'], streams: readonly string[]): Promise<number> {
  let count = 0
  for (const stream of streams) {
    if (!isStreamOf('consent', stream)) continue
    const { events } = await readConsentEvents(store, stream)
    if (heldOf(events.reduce(evolveConsent, initialConsent)).isEndWanted) count += 1
  }
  return count
}

function otherEnrolment(): AverbaError {
  return new AverbaError('COMMAND_REUSED', 'Cannot erase: this command id has erased another enrolment', {
    hint: 'Name that one by its ref to get its receipt. To erase the present one, give another command id',
  })
}

function unmadeEnds(count: number): AverbaError {
  const what = count === 1 ? 'a denial or revocation has' : `${count} denials or revocations have`
  return new AverbaError('REFUSED', `Cannot erase: ${what} not been made at the service, and nobody would ask for it`, {
    hint: 'Wait until it is made, see the check consents in health, or erase with givesUpEnds',
  })
}

/** A caller who wants to keep destroyed parts may not want the rest destroyed either. */
function checkKeepable(before: ErasureReceipt | undefined, keep: readonly PartKind[]): void {
  if (!before || keep.every(kind => before.keeps.includes(kind))) return
  const message = 'Cannot erase: an earlier erasure destroyed some of what is to be kept'
  const hint = `Keep all, some or none of what it kept: ${before.keeps.join(', ')}`
  throw new AverbaError('INVALID_INPUT', message, { hint })
}

const defaultRetentionDays = 30

/** The largest file that is rewritten: writers wait meanwhile, for seconds. */
const rewriteBytesMax = 256 * 1024 ** 2

/** The work of an erasure after its own transaction. Each step may be repeated. */
export function createKeyPerformers(context: ApiContext): PerformersOf<KeyEffects> {
  const lostFact = (): KeyFact => ({ type: 'keys.lost', data: {} })
  const local = { effectClass: 'idempotent', isLocal: true, lostFact } as const
  return {
    'keys.rotate': { ...local, perform: pending => rotateKeys(context, pending) },
    'keys.destroyEpochs': {
      ...local,
      async perform({ data: { epochs } }) {
        await context.store.owners.destroyEpochs(epochs)
        return { status: 'settled', fact: { type: 'keys.epochsDestroyed', data: { epochs } } }
      },
    },
  }
}

/** Rewraps all other keys, empties the journal, and searches the file for the destroyed bytes. */
async function rotateKeys(
  { store, clock, options }: ApiContext,
  pending: PendingEffect,
): Promise<AttemptOutcome<KeyFact>> {
  const erased = await store.readAt(pending.position)
  const summary = erased?.type === 'subject.erased' ? erased.data : { endings: [], parts: 0, isPartial: false }
  const { endings, parts, isPartial } = summary
  const subject = idOfStream(pending.stream)
  const rotated = await store.owners.rotate(pending.position, erased && { subject, at: erased.at, keepsKey: isPartial })
  const journalInUse = { status: 'deferred', reason: 'a reader still uses the journal of the file' } as const
  if (!(await store.database.emptyJournal())) return journalInUse
  const pieces = endings.map(ending => Buffer.from(ending, 'hex'))
  let searched = await store.database.searchFile(pieces)
  // Parts that cannot be searched for count as found.
  let unsearched = Math.max(0, parts - pieces.length)
  const needsRewriting = (searched.found > 0 || unsearched > 0) && searched.bytes <= rewriteBytesMax
  if (needsRewriting && (await store.database.rewrite())) {
    if (!(await store.database.emptyJournal())) return journalInUse
    searched = await store.database.searchFile(pieces)
    unsearched = 0
  }
  const { bytes, found } = searched
  const { backupRetentionDays = defaultRetentionDays } = options
  const data = {
    ...rotated,
    searchedBytes: bytes,
    searchedFor: endings.length,
    found,
    unsearched,
    copiesOpenUntil: toInstant(clock.now() + backupRetentionDays * dayMs),
  }
  return { status: 'settled', fact: { type: 'keys.rotated', data } }
}

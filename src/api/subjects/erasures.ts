import { hash } from 'node:crypto'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { listOf } from '../../proof/erasure.ts'
import type { NamedPart, PersonSurvey } from '../../store/owners/survey.ts'
import { partPlaceKey } from '../../store/parts/parts.ts'
import { parseCpf } from '../../vocabulary/cpf.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { RecordedEvent } from '../../vocabulary/message.ts'
import { idOf, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions } from '../../vocabulary/outcome.ts'
import { checkKinds, kindOf, type PartKind } from '../../vocabulary/part-kinds.ts'
import type { ApiContext } from '../api-context.ts'
import { checkBasis, checkId } from '../arguments.ts'
import { type ErasureReceipt, readReceipt } from '../reports/erasure-receipt.ts'
import { checkWho, type SubjectRef, type SubjectSelector } from '../subject-directory.ts'

/** What has to be said of an erasure. */
export interface EraseOptions extends Omit<CommandOptions, 'basis'> {
  /** Who asked for it, opaque: the reference of a request, of a person, of a department. Kept in clear. */
  readonly requester: string
  /** On what basis, such as `LGPD art. 18, VI`. Kept in clear. */
  readonly legalBasis: string
  /**
   * Kinds of parts that the law has kept (LGPD article 16). They stay, sealed, and can be erased later: a later erasure
   * keeps some of them, or none. Where there is nothing of them, the key goes.
   */
  readonly keep?: readonly PartKind[]
}

/** Erasures of data subjects (LGPD article 18, VI). */
export interface Erasures {
  /**
   * Destroys what there is of a data subject: key, parts, and the ways to find them, in the transaction that records
   * it; calls that are owed for them are cancelled in it. Then all other keys are wrapped anew, the journal is emptied
   * and the file searched. That is waited for, up to `waitMs`; `run` or `settle` carry it on otherwise, and the receipt
   * says how far it has come. Of a subject who was erased before, it gives the receipt again where `keep` names what
   * was kept.
   *
   * Later commands throw `SUBJECT_ERASED`. Facts that still arrive are recorded without personal data. A CPF that is
   * met again is a new subject, which nothing links to the old one.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT`, also when `keep` names what an earlier erasure destroyed, and
   * would destroy what that kept; `INVALID_CPF`, `PERSONAL_ID` when requester or basis hold a CPF
   */
  erase(selector: SubjectSelector, options: EraseOptions): Promise<ErasureReceipt>
  /** The receipt of an erasure as it stands now; `undefined` when the subject was not erased. */
  receipt(subject: SubjectRef): Promise<ErasureReceipt | undefined>
}

/** How many pieces of what was destroyed the file is searched for. */
const piecesMax = 256
/**
 * What stays of the index: the number of a failure record says nothing of anybody, and the portal keeps the record. A
 * recovery that took it for a new one would bring back what was erased.
 */
const staying: ReadonlySet<string> = new Set(['recovery'])

/** Makes the erasures of the area `subjects`. */
export function createErasures(context: ApiContext): Erasures {
  const { commands, engine, store, subjects } = context
  const receipt = (subject: SubjectRef) => readReceipt(store, subject)

  /**
   * The subject, also one of whom something was kept. By a CPF that no longer leads to anybody, it is the one who was
   * erased under the same command id; whoever is enrolled with that CPF now is another subject, with whom the id has
   * nothing to do.
   */
  async function find(selector: SubjectSelector, commandId: string | undefined): Promise<SubjectRef> {
    if ('cpf' in selector) {
      const isEnrolled = (await store.lookUp('cpf', parseCpf(selector.cpf))) !== undefined
      const before = isEnrolled || commandId === undefined ? undefined : await erasedUnder(commandId)
      if (before) return idOf(before.stream) as SubjectRef // On theirs.
      return subjects.find(selector)
    }
    const state = await store.owners.stateOf(streamOf('subject', selector.subject))
    if (state !== undefined) return selector.subject
    throw new AverbaError('NOT_FOUND', 'Cannot find the data subject: nobody is enrolled under it')
  }

  async function erasedUnder(commandId: string): Promise<RecordedEvent | undefined> {
    const before = await store.receipt(commandId)
    const event = before && (await store.readAt(before.position))
    return event?.type === 'subject.erased' ? event : undefined
  }

  async function deliver(subject: SubjectRef, options: EraseOptions): Promise<DecisionRequest> {
    const { requester, legalBasis, keep = [] } = options
    // Looked at before the survey: whatever is recorded of the person after it is in the way of the append.
    checkKept(await receipt(subject), keep)
    const found = await store.owners.survey(subject)
    const kept = found.parts.filter(part => isKept(part, keep) && isLeft(part))
    const gone = found.parts.filter(part => !kept.includes(part))
    const keeps = keep.filter(kind => kept.some(part => kindOf(part) === kind))
    const keepsKey = kept.length > 0
    const owner = streamOf('subject', subject)
    const { until, effects } = found
    const claims = found.claims.filter(({ kind }) => !staying.has(kind))
    const data = {
      ...{ requester, legalBasis, subject, keeps, kept: kept.map(partPlaceKey), effects },
      ...{ parts: gone.length, list: hash('sha256', listOf(gone), 'hex'), indexRows: claims.length },
      endings: endingsOf(found, gone, keepsKey),
    }
    const others = found.streams.flatMap(stream => {
      const machine = stream.slice(0, stream.indexOf('-'))
      const isTold = machine === 'consent' || machine === 'validation'
      return isTold ? [{ stream, message: { type: `${machine}.erase`, data: {} } }] : []
    })
    const { commands, streams } = found
    const places = kept.map(part => part.position)
    const person = { owner, subject, until, claims, commands, streams, keepsKey, kept: places }
    return {
      targets: [...others, { stream: owner, message: { type: 'subject.erase', data } }],
      destroys: { parts: gone, person },
    }
  }

  /** Continues an earlier erasure of the same extent, and gives its receipt. */
  async function goOn(
    selector: SubjectSelector,
    keep: readonly PartKind[],
  ): Promise<ErasureReceipt | undefined> {
    if ('cpf' in selector) return undefined
    const known = await receipt(selector.subject)
    // What was kept has to be asked for again, else it goes now.
    if (!known?.keeps.every(kind => keep.some(each => each === kind))) return undefined
    const stream = streamOf('subject', selector.subject)
    const owed = await store.effects({ stream, states: ['owed', 'started', 'deferred'] })
    for (const { id, type } of owed) if (type.startsWith('keys.')) await engine.perform(id)
    return receipt(selector.subject)
  }

  return {
    receipt: subject => engine.admit(() => receipt(subject)),
    async erase(selector, options) {
      const { requester, legalBasis, keep = [], ...ask } = options
      checkWho(selector)
      checkId(requester, 'requester')
      checkBasis({ purpose: 'erasure', legalBasis })
      checkKinds(keep)
      const done = await engine.admit(() => goOn(selector, keep))
      if (done) return done
      const subject = await engine.admit(() => find(selector, ask.commandId))
      // What the command id stands for may hold no CPF: it outlives the erasure.
      const input = { method: 'subjects.erase', subject, requester, legalBasis, keep: [...keep] }
      await commands.send(
        input,
        () => deliver(subject, options),
        { ...ask, basis: { purpose: 'erasure', legalBasis } },
        async () => undefined,
      )
      const made = await receipt(subject)
      if (!made) throw new TypeError('An erasure was recorded and has no receipt')
      return made
    },
  }
}

function isKept(part: Pick<NamedPart, 'type' | 'name'>, keep: readonly string[]): boolean {
  const kind = kindOf(part)
  return kind !== undefined && keep.includes(kind)
}

/** Somebody who asks to keep what is gone already may not want the rest destroyed. */
function checkKept(before: ErasureReceipt | undefined, keep: readonly PartKind[]): void {
  if (!before || keep.every(kind => before.keeps.includes(kind))) return
  throw new AverbaError(
    'INVALID_INPUT',
    'Cannot erase: some of what is to be kept went with an earlier erasure',
    {
      hint: `Keep what that has kept, ${before.keeps.join(', ')}, some of it, or nothing`,
    },
  )
}

/** Whether anything of it is left to keep: what is gone keeps no key. */
function isLeft({ ending }: NamedPart): boolean {
  return ending !== undefined
}

/** The key first: without it nothing else matters. */
function endingsOf({ keyEnding }: PersonSurvey, gone: readonly NamedPart[], keepsKey: boolean): string[] {
  const ofKey = keyEnding === undefined || keepsKey ? [] : [keyEnding]
  return [...ofKey, ...gone.flatMap(part => part.ending ?? [])].slice(0, piecesMax)
}

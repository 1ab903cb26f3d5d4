import type { DecisionRequest } from '../engine/recording/decisions.ts'
import type { SubjectOrigin } from '../machines/subject/messages.ts'
import type { Store } from '../store/store.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { checkKnownNames, streamOf } from '../vocabulary/names.ts'
import { type Cpf, parseCpf } from '../vocabulary/tax-numbers.ts'
import { checkText } from './arguments.ts'

/** Far longer than an id of the service. */
const recordIdMax = 500

/** A random name for a data subject, safe in your tables and logs. A value read from there is cast `as SubjectRef`. */
export type SubjectRef = string & { readonly subject: unique symbol }

/** Gives a ref that averba made itself, and kept in its log or its index, its type. */
export function toSubjectRef(kept: string): SubjectRef {
  return kept as SubjectRef // Only `SubjectDirectory` makes refs, and the callers read no other texts.
}

/** A data subject, by CPF or by ref. */
export type SubjectSelector = { readonly cpf: string } | { readonly subject: SubjectRef }

/**
 * Checks that a selector has either a CPF or a ref: both could name two persons. An `id` among its `members` is there.
 * It has no others: a misspelled one would be ignored, and an id names less than what is done to a person. But where
 * nothing besides an id is asked, it may be a whole record, as listed. Throws `INVALID_INPUT`.
 */
export function checkSelector(selector: SubjectSelector, ...members: readonly string[]): void {
  // Untyped callers may pass anything.
  const given: unknown = selector
  const object: { cpf?: unknown; subject?: unknown; id?: unknown } =
    typeof given === 'object' && given !== null ? given : {}
  const { cpf, subject, id } = object
  if (members.join() !== 'id')
    checkKnownNames(object, ['cpf', 'subject', ...members], { noun: 'member', of: 'the selector' })
  if (members.includes('id')) checkText(id, "record's id", recordIdMax)
  if (cpf === undefined && subject === undefined) {
    const hint = 'Give { cpf }, or the ref of consents.enrol as { subject }'
    throw new AverbaError('INVALID_INPUT', 'Cannot find the data subject: CPF and ref are missing', { hint })
  }
  if (cpf === undefined || subject === undefined) return
  throw new AverbaError('INVALID_INPUT', 'Cannot find the data subject: both CPF and ref are given', {
    hint: 'Give one of them, preferably the ref',
  })
}

/** A record of a data subject. The contract addresses records by CPF and id; an id alone is never enough. */
export type RecordSelector = SubjectSelector & { readonly id: string }

/** Finds data subjects by CPF, without storing the CPF in clear. */
export type SubjectDirectory = ReturnType<typeof createSubjectDirectory>

export function createSubjectDirectory(store: Store, createId: () => string) {
  /**
   * The ref of an enrolled data subject, by a selector with these `members` besides.
   *
   * @throws {AverbaError} `NOT_FOUND` when no data subject is enrolled under it, `SUBJECT_ERASED`, `INVALID_CPF`,
   * `INVALID_INPUT` when both are given
   */
  async function find(selector: SubjectSelector, ...members: readonly string[]): Promise<SubjectRef> {
    checkSelector(selector, ...members)
    const cpf = 'cpf' in selector ? selector.cpf : undefined
    const subject = 'subject' in selector ? selector.subject : undefined
    const found = subject === undefined ? await store.lookUp('cpf', parseCpf(cpf ?? '')) : await findByRef(subject)
    if (found !== undefined) return toSubjectRef(found)
    // The same answer for an erased CPF and an unknown one: after an erasure they must not differ.
    const [by, more] =
      subject === undefined
        ? ['CPF', '; for an erased person use their ref, since a CPF no longer leads to them']
        : ['ref', '']
    throw new AverbaError('NOT_FOUND', `Cannot find the data subject: this ${by} is not enrolled`, {
      hint: `Check it; a program enrols people with consents.enrol${more}`,
    })
  }

  async function prepareSubject(
    cpf: Cpf,
    origin: SubjectOrigin,
  ): Promise<DecisionRequest & { readonly subject: SubjectRef }> {
    const known = await store.lookUp('cpf', cpf)
    if (known !== undefined)
      // As above.
      return { subject: toSubjectRef(known), targets: [], indexEntries: [], concerns: streamOf('subject', known) }
    const subject = toSubjectRef(createId())
    const parts = { cpf: { owner: streamOf('subject', subject), value: cpf } }
    const message = { type: 'subject.enrol', data: { subject, origin }, parts }
    return {
      subject,
      targets: [{ stream: streamOf('subject', subject), message, isNew: true }],
      indexEntries: [{ kind: 'cpf', digest: store.digest('cpf', cpf), value: subject }],
    }
  }

  async function isErased(owner: string): Promise<boolean> {
    return (await store.owners.stateOf(owner)) === 'erased'
  }

  /** A ref is enrolled when its stream owns a key: the one that seals the CPF. */
  async function findByRef(subject: SubjectRef): Promise<string | undefined> {
    const state = await store.owners.stateOf(streamOf('subject', subject))
    if (state === 'erased')
      throw new AverbaError('SUBJECT_ERASED', 'Cannot find the data subject: they were erased', {
        hint: 'See subjects.receipt and subjects.report for what was destroyed and what is left',
      })
    return state && subject
  }

  return { find, prepareSubject, isErased }
}

import type { DecisionRequest } from '../engine/recording/decisions.ts'
import type { SubjectOrigin } from '../machines/subject/messages.ts'
import type { Store } from '../store/store.ts'
import { type Cpf, parseCpf } from '../vocabulary/cpf.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { streamOf } from '../vocabulary/names.ts'

/** A data subject by a random name: safe in your tables and logs. What comes from there is given `as SubjectRef`. */
export type SubjectRef = string & { readonly subject: unique symbol }

/** A data subject, by CPF or by ref. */
export type SubjectSelector = { readonly cpf: string } | { readonly subject: SubjectRef }

/**
 * Refuses who is not named, or twice: it could be two persons.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function checkWho(selector: SubjectSelector): void {
  // What has no types may give anything.
  const given: unknown = selector
  const { cpf, subject }: { cpf?: unknown; subject?: unknown } =
    typeof given === 'object' && given !== null ? given : {}
  if (cpf === undefined && subject === undefined) {
    const hint = 'Give { cpf }, or the ref of consents.enrol as { subject }'
    throw new AverbaError('INVALID_INPUT', 'Cannot find the data subject: nobody is named', { hint })
  }
  if (cpf === undefined || subject === undefined) return
  throw new AverbaError('INVALID_INPUT', 'Cannot find the data subject: both CPF and ref are given', {
    hint: 'Give one of them: by the ref where you have it',
  })
}

/** A record of a data subject: the contract addresses it by CPF and id, an id alone is never enough. */
export type RecordSelector = SubjectSelector & { readonly id: string }

/** Finds data subjects by CPF without keeping the CPF anywhere in clear. */
export class Subjects {
  readonly #store: Store
  readonly #createId: () => string

  constructor(store: Store, createId: () => string) {
    this.#store = store
    this.#createId = createId
  }

  /**
   * The ref of an enrolled data subject.
   *
   * @throws {AverbaError} `NOT_FOUND` when nobody is enrolled under it, `SUBJECT_ERASED`, `INVALID_CPF`,
   * `INVALID_INPUT` when both are given
   */
  async find(selector: SubjectSelector): Promise<SubjectRef> {
    checkWho(selector)
    const found =
      'cpf' in selector
        ? await this.#store.lookUp('cpf', parseCpf(selector.cpf))
        : await this.#known(selector.subject)
    if (found !== undefined) return found as SubjectRef // Only refs are kept under this kind.
    const by = 'cpf' in selector ? 'this CPF' : 'this ref'
    // The same answer whether somebody was erased or never known: that nothing tells is what erasure means.
    const erased =
      'or, of somebody who was erased, ask by their ref: nothing leads from a CPF to them any more'
    throw new AverbaError('NOT_FOUND', `Cannot find the data subject: nobody is enrolled under ${by}`, {
      hint: `Call consents.enrol first${'cpf' in selector ? `; ${erased}` : ''}`,
    })
  }

  /** What to record so that a CPF has a subject: nothing when it has one. */
  async meet(cpf: Cpf, origin: SubjectOrigin): Promise<DecisionRequest & { readonly subject: SubjectRef }> {
    const known = await this.#store.lookUp('cpf', cpf)
    if (known !== undefined)
      // As above.
      return { subject: known as SubjectRef, targets: [], claims: [], concerns: streamOf('subject', known) }
    const subject = this.#createId() as SubjectRef // Made here.
    const parts = { cpf: { owner: streamOf('subject', subject), value: cpf } }
    const message = { type: 'subject.enrol', data: { subject, origin }, parts }
    return {
      subject,
      targets: [{ stream: streamOf('subject', subject), message, isNew: true }],
      claims: [{ kind: 'cpf', digest: this.#store.digest('cpf', cpf), value: subject }],
    }
  }

  /** Reports whether what is sealed for an owner was erased. */
  async isErased(owner: string): Promise<boolean> {
    return (await this.#store.owners.stateOf(owner)) === 'erased'
  }

  /** Everyone enrolled has a key, which seals their CPF. */
  async #known(subject: SubjectRef): Promise<string | undefined> {
    const state = await this.#store.owners.stateOf(streamOf('subject', subject))
    if (state === 'erased')
      throw new AverbaError('SUBJECT_ERASED', 'Cannot find the data subject: they were erased', {
        hint: 'subjects.receipt and subjects.report say what was destroyed and what is left',
      })
    return state && subject
  }
}

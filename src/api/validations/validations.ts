import { environmentId } from '../../adapters/validation/environment.ts'
import { flattenMembers } from '../../adapters/validation/protocol.ts'
import { type Claims, claimsSchema } from '../../adapters/validation/wire.ts'
import type { AddressedMessage } from '../../engine/recording/decisions.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import { yieldToEventLoop } from '../../runtime/event-loop.ts'
import { validationStates } from '../../views/validations.ts'
import { brasiliaDay } from '../../vocabulary/brasilia.ts'
import { parseCpf } from '../../vocabulary/cpf.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { checkKnownNames } from '../../vocabulary/known-names.ts'
import type { Basis, Instant, Json, Part, RecordedEvent } from '../../vocabulary/message.ts'
import { isStreamOf, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions, Outcome } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkId, checkInstant, checkOneOf, checkText, notAbout } from '../arguments.ts'
import type { Standings } from '../consents/effectiveness.ts'
import type { FreshnessOptions } from '../consents/readings.ts'
import type { RecordSelector } from '../subject-directory.ts'
import { applyLateAnswer, findValidation, requireValidation } from './find-validation.ts'
import { checkNamedBefore, useNamed } from './named-consents.ts'
import { findReusable } from './reuse.ts'
import { openListedValidation, openValidation, type Validation } from './validation.ts'

/** What is to be validated, and whether it may cost anything. */
export interface ValidationInput {
  /** The command id: the same id is never paid twice. */
  readonly id: string
  readonly cpf: string
  readonly claims: Claims
  /** Takes a definitive answer to the same claims about the same person that is not older than this. */
  readonly reuseWithinMs?: number
  /** Pays again, on purpose, for an inconclusive validation. */
  readonly again?: { readonly of: string; readonly reason: string }
}

/** The last argument of a validation. Its basis may name the consent that it rests on. */
export interface ValidationCommandOptions extends Omit<CommandOptions, 'commandId' | 'basis'> {
  readonly basis?: Basis & { readonly consent?: RecordSelector & FreshnessOptions }
}

/** Validations of persons: each may cost money, and is sent at most once (document 2, section 4.2). */
export interface Validations {
  /**
   * Validates what is claimed of a person. The same id gives the same result and is never paid twice.
   *
   * A consent that the basis names is used first, as by `consents.use`: the use is recorded, with the validation's
   * correlation id, or its id where there is none. Asked again under the same id, it is not used again. It has to stand
   * whenever a request leaves, by what the log knows then: otherwise none does, and the outcome is `declined` with the
   * code `CONSENT_NOT_EFFECTIVE`.
   *
   * @throws {AverbaError} `INVALID_CPF`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`; `BUDGET_SPENT` over
   * `paidPerDayMax`, with no validation recorded, so that the same id may be used another day; `NOT_FOUND` and
   * `REFUSED` when what is to be paid again is not there, is not inconclusive, or was paid again before;
   * `CONSENT_NOT_EFFECTIVE` when the consent does not stand, before any request for the validation; `PART_ARCHIVED`,
   * `PART_DESTROYED` under an id that was answered, when its answer was destroyed
   */
  validate(input: ValidationInput, commandOptions?: ValidationCommandOptions): Promise<Outcome<Validation>>
  /**
   * A validation by the host's id, or `undefined`.
   *
   * @throws {AverbaError} `PART_DESTROYED` when its answer was destroyed
   */
  get(id: string): Promise<Validation | undefined>
  /**
   * The validation that an event is about, as it is now. Throws as `get`, and `INVALID_INPUT` when it is about none.
   */
  of(event: Pick<RecordedEvent, 'stream'>): Promise<Validation>
  /**
   * The validations in the order in which they were asked for, `from` included, `until` not. Those without
   * `reusedFrom` are the ones that an invoice may name, by `traceId`. One whose answer was destroyed is listed without
   * it, and says so by `isDestroyed`.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an instant in another form or an unknown state, `VIEW_STOPPED` while
   * their view stands still
   */
  list(filter?: { state?: Validation['state']; from?: Instant; until?: Instant }): AsyncIterable<Validation>
  /**
   * Records what a person found out about an inconclusive validation: whether it was charged. It stays inconclusive,
   * and its effect ends as declined, since no result will come. The note is kept sealed.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT`; `REFUSED` when it is not inconclusive, or was resolved before
   */
  resolve(
    id: string,
    verdict: { charged: boolean; note?: string },
    commandOptions?: CommandOptions,
  ): Promise<void>
}

const inputNames = ['id', 'cpf', 'claims', 'again', 'reuseWithinMs'] as const
const pageRows = 100
/** Of a text that is kept sealed. */
const textMax = 2_000

/** The error for an id of another service: an answer of a demonstration is never taken for one of the real service. */
function ofAnother(): AverbaError {
  return new AverbaError('COMMAND_REUSED', 'Cannot validate: this id was asked of another service', {
    hint: 'Use another id. Where the same service has moved, give its former address as validationService.knownAs',
  })
}

/** Makes the area `validations`. `standings` records the use of a named consent, or throws where it does not stand. */
export function createValidations(
  context: ApiContext,
  standings: Pick<Standings, 'use' | 'standing'>,
): Validations {
  const { commands, rows, subjects, views } = context
  const { validationService } = context.options
  const { paidPerDayMax } = validationService ?? {}
  const environment = validationService && environmentId(validationService)

  async function get(id: string): Promise<Validation | undefined> {
    const found = await findValidation(context, id)
    if (!found) return undefined
    const row = await rows.find('validations', found.stream)
    return row && openValidation(context, row)
  }

  /** What one service said, or may have done, is no answer of another, such as of production. */
  async function refuseOfAnother(id: string): Promise<void> {
    const asked = (await findValidation(context, id))?.environment
    if (asked !== undefined && asked !== environment) throw ofAnother()
  }

  /** One of today's paid calls, counted in the append that asks for it: no other process can come in between. */
  function spend(validation: string): AddressedMessage[] {
    if (paidPerDayMax === undefined) return []
    const data = { for: validation, max: paidPerDayMax }
    const stream = streamOf('budget', brasiliaDay(context.clock.now()))
    return [{ stream, message: { type: 'budget.spend', data } }]
  }

  /** Marks what is paid again, so that this happens only once. */
  async function repeat(of: string, by: string, person: string, claims: Json): Promise<AddressedMessage> {
    const { stream, subject } = await requireValidation(context, of)
    if (subject !== person) throw invalid('id of the validation to pay again: it is of another person')
    // What was destroyed cannot be compared.
    const before = await context.store.open(`${stream}/1/claims`)
    if (before !== undefined && !isSame(before, claims))
      throw invalid(
        'claims: what is paid again claims the same; validate what differs under an id of its own',
      )
    return { stream, message: { type: 'validation.repeat', data: { by } } }
  }

  return {
    get,
    async of({ stream }) {
      const row = isStreamOf('validation', stream) ? await rows.find('validations', stream) : undefined
      if (!row) throw notAbout('validation')
      return openValidation(context, row)
    },
    async validate(input, given = {}) {
      context.require('validationService')
      const { id, again, reuseWithinMs: withinMs } = input
      checkInput(input)
      const cpf = parseCpf(input.cpf)
      const claims = parseClaims(input.claims)
      const commandOptions = given.basis?.consent
        ? { ...given, correlationId: given.correlationId ?? id }
        : given
      const { basis } = commandOptions
      const which = basis?.consent
      const named = which && (await useNamed(context, standings, { id, cpf, which, basis }, commandOptions))
      const validation = context.createId()
      const stream = streamOf('validation', validation)
      const read = async () => {
        const answered = await get(id)
        if (!answered) throw new TypeError('A validation was answered and is not in its view')
        return answered
      }
      const outcome = await commands.send(
        { method: 'validations.validate', cpf, claims, ...(again && { again: { ...again } }) },
        async () => {
          const { subject, targets, claims: met = [], ...about } = await subjects.meet(cpf, 'validation')
          // The person was erased and met again since: nothing links the consent's subject to this one.
          if (named && named.subject !== subject) throw invalid('consent: its person was erased meanwhile')
          const owner = streamOf('subject', subject)
          const reusable =
            withinMs === undefined ? undefined : await findReusable(context, { subject, claims, withinMs })
          if (reusable) {
            const data = { validation, id, subject, environment, ...reusable }
            const message = { type: 'validation.reuse', data }
            // Nothing is sealed with it: only this tells the append whose it is, should the person be erased meanwhile.
            return { ...about, targets: [...targets, { stream, message, isNew: true }], claims: met }
          }
          const parts = {
            claims: { owner, value: claims },
            ...(again && { reason: { owner, value: again.reason } }),
          }
          const { consent } = named ?? {}
          const rests = consent !== undefined && { consent }
          const data = { validation, id, subject, environment, ...(again && { again: again.of }), ...rests }
          const message = { type: 'validation.request', data, parts }
          const repeated = again ? [await repeat(again.of, id, subject, claims)] : []
          return {
            // The validation's own event comes last: the receipt of the command id leads to it.
            targets: [...targets, ...repeated, ...spend(validation), { stream, message, isNew: true }],
            claims: met,
          }
        },
        { ...commandOptions, commandId: id },
        read,
      )
      // What is only put off is left to the process that is configured as it was asked.
      if (outcome.replayed && outcome.status !== 'deferred') await refuseOfAnother(id)
      // Who asked at the same time with another consent, or none, was faster.
      if (outcome.replayed && named) await checkNamedBefore(context, id, which)
      return applyLateAnswer(context, id, outcome, read)
    },
    async *list({ state, from, until } = {}) {
      if (from !== undefined) checkInstant(from, 'from')
      if (until !== undefined) checkInstant(until, 'until')
      if (state !== undefined) checkOneOf(state, validationStates, 'state of a validation')
      for (let after = ''; ; ) {
        let query = views.selectFrom('validations').selectAll().where('validation', '>', after)
        if (state !== undefined) query = query.where('state', '=', state)
        if (from !== undefined) query = query.where('requested_at', '>=', from)
        if (until !== undefined) query = query.where('requested_at', '<', until)
        // Ids are ordered by time, and the table is sorted by them.
        const page = await query.orderBy('validation').limit(pageRows).execute()
        for (const row of page) yield await openListedValidation(context, row)
        const last = page.at(-1)
        if (!last || page.length < pageRows) return
        after = last.validation
        await yieldToEventLoop()
      }
    },
    async resolve(id, { charged, note }, commandOptions = {}) {
      if (typeof charged !== 'boolean') throw invalid('verdict: charged must be true or false')
      if (note !== undefined) checkText(note, 'note', textMax)
      const { stream, subject } = await requireValidation(context, id)
      const owner = streamOf('subject', subject)
      const parts: Record<string, Part> = {
        ...(note !== undefined && { note: { owner, value: note } }),
        problem: { owner, value: charged ? lostResult : notCharged },
      }
      const message = { type: 'validation.resolve', data: { charged }, parts }
      const input = { method: 'validations.resolve', id, charged, note: note ?? null }
      await commands.record(input, async () => ({ targets: [{ stream, message }] }), commandOptions)
    },
  }
}

/** The outcome of a validation that a person has resolved. */
const notCharged = { status: 0, code: 'NOT_CHARGED', title: 'A person found out that it was not charged' }
const lostResult = {
  ...{ status: 0, code: 'CHARGED_WITHOUT_RESULT' },
  title: 'A person found out that it was charged; its result is lost',
}

function isSame(a: Json, b: Json): boolean {
  return canonicalJson(a, { fractions: true }) === canonicalJson(b, { fractions: true })
}

function checkInput(input: ValidationInput): void {
  checkKnownNames(input, inputNames, { noun: 'member', of: 'the validation' })
  const { id, again, reuseWithinMs } = input
  checkId(id, 'validation id')
  if (again) {
    checkId(again.of, 'id of the validation to pay again')
    checkText(again.reason, 'reason to pay again', textMax)
  }
  if (reuseWithinMs === undefined) return
  if (again) throw invalid('input: what is paid again on purpose is not reused')
  if (!(reuseWithinMs >= 0)) throw invalid('input: reuseWithinMs must be 0 or more')
}

function invalid(what: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot use the ${what}`)
}

function isBlank(value: unknown): boolean {
  return typeof value === 'string' && value.trim() === ''
}

/** Checks the shape of claims, and names what is wrong by its field, never by its value. */
function parseClaims(given: Claims): Json {
  const parsed = claimsSchema.safeParse(given)
  const isNothing = parsed.success && [...flattenMembers(parsed.data).values()].every(isBlank)
  if (isNothing) throw invalid('claims: nothing is claimed, and the call may cost money')
  if (parsed.success) return JSON.parse(JSON.stringify(parsed.data))
  const all = parsed.error.issues.map(issue => {
    // A name that is none of the contract's may be a value of the person.
    const unknown = issue.code === 'unrecognized_keys' ? ['<a field of another name>'] : []
    return [...issue.path, ...unknown].join('.')
  })
  const fields = [...new Set(all)]
  throw new AverbaError(
    'INVALID_INPUT',
    `Cannot validate: wrong claims${fields.some(Boolean) ? ` at ${fields.join(', ')}` : ''}`,
    {
      hint: `Use the fields of the contract, texts, whole numbers, and days of the calendar as YYYY-MM-DD: ${Object.keys(claimsSchema.shape).join(', ')}`,
    },
  )
}

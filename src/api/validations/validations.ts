import { environmentId, flattenMembers } from '../../adapters/validation/protocol.ts'
import { type Claims, claimsSchema } from '../../adapters/validation/wire.ts'
import type { AddressedMessage, DecisionRequest } from '../../engine/recording/decisions.ts'
import { canonicalJson } from '../../proof/canonical-json.ts'
import { readPages } from '../../runtime/lazy-list.ts'
import { type ValidationRow, validationStates } from '../../views/validations.ts'
import { brasiliaDay } from '../../vocabulary/brasilia.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Basis, Instant, Json, Part, RecordedEvent } from '../../vocabulary/message.ts'
import { checkKnownNames, isStreamOf, streamOf } from '../../vocabulary/names.ts'
import type { CommandOptions, Outcome } from '../../vocabulary/outcome.ts'
import { type Cpf, parseCpf } from '../../vocabulary/tax-numbers.ts'
import type { ApiContext } from '../api-context.ts'
import { checkId, checkInstant, checkOneOf, checkStream, checkText, eventMismatch } from '../arguments.ts'
import type { FreshnessOptions } from '../consents/readings.ts'
import type { Standings } from '../consents/standings.ts'
import type { RecordSelector } from '../subject-directory.ts'
import { checkSameConsent, type NamedConsentIds, useNamedConsent } from './named-consents.ts'
import { findReusable } from './reuse.ts'
import {
  applyLateAnswer,
  findValidation,
  openListedValidation,
  openValidation,
  requireValidation,
  type Validation,
} from './validation.ts'

/** The claims to validate, and whether an answer may be reused or paid again. */
export interface ValidationInput {
  /** The command id; the same id is never paid twice. */
  readonly id: string
  readonly cpf: string
  readonly claims: Claims
  /** Reuses a definitive answer to the same claims about the same person if it is not older than this. */
  readonly reuseWithinMs?: number
  /** Pays again, on purpose, for a validation that is inconclusive, or was until it was resolved. */
  readonly again?: { readonly of: string; readonly reason: string }
}

/** The command options of a validation. The basis may name the consent that it depends on. */
export interface ValidationCommandOptions extends Omit<CommandOptions, 'commandId' | 'basis'> {
  readonly basis?: Basis & { readonly consent?: RecordSelector & FreshnessOptions }
}

/** Validations of claims about persons. Each may cost money and is sent at most once (document 2, section 4.2). */
export interface Validations {
  /**
   * Validates claims about a person. The same id returns the same result and is never paid twice.
   *
   * A consent named by the basis is used first, as by `consents.use`, and the use is recorded once per id, with the
   * correlation id of the validation (by default its id). The consent must be effective, by the log, whenever a request
   * is sent. Otherwise nothing is sent, and the outcome is `declined` with the code `CONSENT_NOT_EFFECTIVE`.
   *
   * @throws {AverbaError} `INVALID_CPF`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`; `BUDGET_SPENT` over
   * `paidPerDayMax`, with no validation recorded, so that the same id may be used another day; `NOT_FOUND` and
   * `REFUSED` when the validation to pay again does not exist, is not inconclusive, or was paid again before;
   * `CONSENT_NOT_EFFECTIVE` when the consent is not effective, before any request is sent;
   * `PART_DESTROYED` when the answer under this id was destroyed
   */
  validate(input: ValidationInput, commandOptions?: ValidationCommandOptions): Promise<Outcome<Validation>>
  /**
   * A validation by the host's id, or `undefined`.
   *
   * @throws {AverbaError} `PART_DESTROYED` when its answer was destroyed
   */
  get(id: string): Promise<Validation | undefined>
  /** The validation of an event, as it is now. Throws as `get`, and `INVALID_INPUT` for another event. */
  of(event: Pick<RecordedEvent, 'stream'>): Promise<Validation>
  /**
   * Lists the validations in the order of their requests, `from` included, `until` excluded. An invoice may name those
   * without `reusedFrom`, by `traceId`. One whose answer was destroyed is listed without it and has `isDestroyed`.
   *
   * @throws {AverbaError} `INVALID_INPUT` for an instant in another form or an unknown state, `VIEW_STOPPED`
   */
  list(filter?: { state?: Validation['state']; from?: Instant; until?: Instant }): AsyncIterable<Validation>
  /**
   * Records whether an inconclusive validation was charged, as a person found out. It is `resolved` then, and its
   * effect ends as declined, since no result will arrive. Resolving it again corrects that. The note is sealed.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT`; `REFUSED` when it is neither inconclusive nor resolved
   */
  resolve(id: string, verdict: { charged: boolean; note?: string }, commandOptions?: CommandOptions): Promise<void>
}

const inputNames = ['id', 'cpf', 'claims', 'again', 'reuseWithinMs'] as const
const validationsPerPage = 100
const sealedTextMax = 2_000

/** Creates the area `validations`. `standings` records the use of a named consent, or throws if it is not effective. */
export function createValidations(context: ApiContext, standings: Pick<Standings, 'use' | 'standing'>): Validations {
  const { commands, rows, subjects, views } = context
  const { validationService } = context.options
  const { paidPerDayMax } = validationService ?? {}
  const environment = validationService && environmentId(validationService)

  async function get(id: string): Promise<Validation | undefined> {
    checkId(id, 'validation id')
    const found = await findValidation(context, id)
    if (!found) return undefined
    const row = await rows.find('validations', found.stream)
    return row && openValidation(context, row)
  }

  /** Refuses an id that was requested from another service: an answer of the demonstration is not one of production. */
  async function checkService(id: string): Promise<void> {
    const requested = (await findValidation(context, id))?.environment
    if (requested === undefined || requested === environment) return
    throw new AverbaError('COMMAND_REUSED', 'Cannot validate: this id was used with another service', {
      hint: 'Use another id. If the same service has moved, give its former address as validationService.knownAs',
    })
  }

  /** Counts one of today's paid calls, in the same append as its request: two processes cannot exceed the budget. */
  function spendBudget(validation: string): AddressedMessage[] {
    if (paidPerDayMax === undefined) return []
    const data = { for: validation, max: paidPerDayMax }
    const stream = streamOf('budget', brasiliaDay(context.clock.now()))
    return [{ stream, message: { type: 'budget.spend', data } }]
  }

  /** Marks a validation as paid again, so that this happens only once. */
  async function repeatPaid(of: string, by: string, person: string, claims: Json): Promise<AddressedMessage> {
    const { stream, subject } = await requireValidation(context, of)
    if (subject !== person) throw invalidInput('id of the validation to pay again: it is of another person')
    const before = await context.store.open(`${stream}/1/claims`)
    if (
      before !== undefined &&
      canonicalJson(before, { fractions: true }) !== canonicalJson(claims, { fractions: true })
    )
      throw invalidInput('claims: they differ from those of the validation to pay again; use a new id without `again`')
    return { stream, message: { type: 'validation.repeat', data: { by } } }
  }

  async function requestValidation(
    { id, again, reuseWithinMs: withinMs }: ValidationInput,
    cpf: Cpf,
    claims: Json,
    named: NamedConsentIds | undefined,
  ): Promise<DecisionRequest> {
    const validation = context.createId()
    const stream = streamOf('validation', validation)
    const prepared = await subjects.prepareSubject(cpf, 'validation')
    const { subject, targets, indexEntries = [], ...about } = prepared
    // The person was erased and enrolled again since: the consent belongs to the erased subject.
    if (named && named.subject !== subject) throw invalidInput('consent: its person was erased meanwhile')
    const owner = streamOf('subject', subject)
    const reusable = withinMs === undefined ? undefined : await findReusable(context, { subject, claims, withinMs })
    if (reusable) {
      const data = { validation, id, subject, environment, ...reusable }
      const message = { type: 'validation.reuse', data }
      // It seals nothing: only `about` tells the append whose it is, should the person be erased meanwhile.
      return { ...about, targets: [...targets, { stream, message, isNew: true }], indexEntries }
    }
    const parts = { claims: { owner, value: claims }, ...(again && { reason: { owner, value: again.reason } }) }
    const consent = named && { consent: named.consent }
    const data = { validation, id, subject, environment, ...(again && { again: again.of }), ...consent }
    const message = { type: 'validation.request', data, parts }
    const repeated = again ? [await repeatPaid(again.of, id, subject, claims)] : []
    return {
      // The validation's own event comes last: the receipt of the command id leads to it.
      targets: [...targets, ...repeated, ...spendBudget(validation), { stream, message, isNew: true }],
      indexEntries,
    }
  }

  return {
    get,
    async of({ stream }) {
      checkStream(stream)
      const row = isStreamOf('validation', stream) ? await rows.find('validations', stream) : undefined
      if (!row) throw eventMismatch('validation')
      return openValidation(context, row)
    },
    async validate(input, given = {}) {
      context.require('validationService')
      const { id, again } = input
      checkInput(input)
      const cpf = parseCpf(input.cpf)
      const claims = parseClaims(input.claims)
      const commandOptions = given.basis?.consent ? { ...given, correlationId: given.correlationId ?? id } : given
      const { basis } = commandOptions
      const which = basis?.consent
      const named = which && (await useNamedConsent(context, standings, { id, cpf, which, basis }, commandOptions))
      const read = async () => {
        const answered = await get(id)
        if (!answered) throw new TypeError('The answered validation is missing in its view')
        return answered
      }
      const outcome = await commands.send(
        { method: 'validations.validate', cpf, claims, ...(again && { again: { ...again } }) },
        () => requestValidation(input, cpf, claims, named),
        { ...commandOptions, commandId: id },
        read,
      )
      // A deferred call is left to a process that is configured for its service.
      if (outcome.replayed && outcome.status !== 'deferred') await checkService(id)
      // A concurrent request with another consent, or none, may have been faster.
      if (outcome.replayed && named) await checkSameConsent(context, id, which)
      return applyLateAnswer(context, id, outcome, read)
    },
    async *list(filter = {}) {
      checkKnownNames(filter, ['state', 'from', 'until'], { noun: 'member', of: 'the filter' })
      const { state, from, until } = filter
      if (from !== undefined) checkInstant(from, 'from')
      if (until !== undefined) checkInstant(until, 'until')
      if (state !== undefined) checkOneOf(state, validationStates, 'state of a validation')
      // Ids are ordered by time.
      let query = views.selectFrom('validations').selectAll().orderBy('validation').limit(validationsPerPage)
      if (state !== undefined) query = query.where('state', '=', state)
      if (from !== undefined) query = query.where('requested_at', '>=', from)
      if (until !== undefined) query = query.where('requested_at', '<', until)
      const read = (last?: ValidationRow) => query.where('validation', '>', last?.validation ?? '').execute()
      for await (const page of readPages(validationsPerPage, read))
        for (const row of page) yield await openListedValidation(context, row)
    },
    async resolve(id, verdict, commandOptions = {}) {
      checkKnownNames(verdict, ['charged', 'note'], { noun: 'member', of: 'the verdict' })
      const { charged, note } = verdict
      if (typeof charged !== 'boolean') throw invalidInput('verdict: charged must be true or false')
      if (note !== undefined) checkText(note, 'note', sealedTextMax)
      const { stream, subject } = await requireValidation(context, id)
      const owner = streamOf('subject', subject)
      const parts: Record<string, Part> = {
        ...(note !== undefined && { note: { owner, value: note } }),
        problem: { owner, value: { status: 0, ...(charged ? resultLost : notCharged) } },
      }
      const message = { type: 'validation.resolve', data: { charged }, parts }
      const input = { method: 'validations.resolve', id, charged, note: note ?? null }
      await commands.record(input, async () => ({ targets: [{ stream, message }] }), commandOptions)
    },
  }
}

const notCharged = { code: 'NOT_CHARGED', title: 'A person found out that it was not charged' }
const resultLost = {
  code: 'CHARGED_WITHOUT_RESULT',
  title: 'A person found out that it was charged and its result is lost',
}

function checkInput(input: ValidationInput): void {
  checkKnownNames(input, inputNames, { noun: 'member', of: 'the validation' })
  const { id, again, reuseWithinMs } = input
  checkId(id, 'validation id')
  if (again) {
    checkId(again.of, 'id of the validation to pay again')
    checkText(again.reason, 'reason to pay again', sealedTextMax)
  }
  if (reuseWithinMs === undefined) return
  if (again) throw invalidInput('input: again and reuseWithinMs exclude each other')
  if (!(reuseWithinMs >= 0)) throw invalidInput('input: reuseWithinMs must be 0 or more')
}

function invalidInput(what: string): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot use the ${what}`)
}

/** Checks the shape of claims. Errors name the field, never the value. */
function parseClaims(given: Claims): Json {
  const parsed = claimsSchema.safeParse(given)
  const values: readonly unknown[] = parsed.success ? [...flattenMembers(parsed.data).values()] : []
  const isEmpty = parsed.success && values.every(each => typeof each === 'string' && each.trim() === '')
  if (isEmpty) throw invalidInput('claims: all are blank, and the call may cost money')
  if (parsed.success) return JSON.parse(JSON.stringify(parsed.data))
  const all = parsed.error.issues.map(issue => {
    // An unknown name is not shown: it may be a value of the person.
    const unknown = issue.code === 'unrecognized_keys' ? ['<an unknown field>'] : []
    return [...issue.path, ...unknown].join('.')
  })
  const fields = [...new Set(all)]
  const cannot = `Cannot validate: wrong claims${fields.some(Boolean) ? ` at ${fields.join(', ')}` : ''}`
  const known = Object.keys(claimsSchema.shape).join(', ')
  const hint = `Use the fields of the contract, with texts, whole numbers and dates as YYYY-MM-DD: ${known}`
  throw new AverbaError('INVALID_INPUT', cannot, { hint })
}

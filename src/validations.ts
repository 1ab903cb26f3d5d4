import type { FieldResult, ValidationResult } from './adapters/validation/protocol.ts'
import { type Claims, claimsSchema } from './adapters/validation/wire.ts'
import type { Area } from './area.ts'
import { parseCpf } from './cpf.ts'
import { AverbaError } from './errors.ts'
import { checkId } from './given.ts'
import type { Instant, Json } from './message.ts'
import type { Ask, Outcome } from './outcome.ts'
import type { ValidationRow } from './views/validations.ts'

/** A validation of what was claimed of a person (document 2, section 2). */
export interface Validation {
  /** The host's id, which is also its command id. */
  readonly id: string
  readonly state: ValidationRow['state']
  /** By field, such as `nome` or `filiacao.nome_mae`. What the service left out was not evaluated. */
  readonly fields: Readonly<Record<string, FieldResult>>
  readonly cpfDisponivel?: boolean
  /** Our id, which the gateway reports where a trace header is configured. */
  readonly traceId: string
  readonly requestedAt: Instant
}

/** Validations of persons: each may cost money, and is sent at most once (document 2, section 4.2). */
export interface Validations {
  /**
   * Validates what is claimed of a person. The same id gives the same result and is never paid twice.
   *
   * @throws {AverbaError} `INVALID_CPF`, `INVALID_INPUT`, `PERSONAL_ID`, `COMMAND_REUSED`
   */
  validate(
    input: { id: string; cpf: string; claims: Claims },
    ask?: Omit<Ask, 'commandId'>,
  ): Promise<Outcome<Validation>>
  /** A validation by the host's id, or `undefined`. */
  get(id: string): Promise<Validation | undefined>
}

/** Makes the area `validations`. */
export function createValidations(area: Area): Validations {
  const { commands, store, subjects, views } = area

  async function get(id: string): Promise<Validation | undefined> {
    const row = await views.selectFrom('validations').selectAll().where('id', '=', id).executeTakeFirst()
    if (!row) return undefined
    const result = row.result === null ? undefined : await store.open(row.result)
    const { fields = {}, cpfDisponivel } = (result ?? {}) as Partial<ValidationResult> // Sealed as such by the client.
    return {
      id,
      state: row.state,
      fields,
      ...(cpfDisponivel !== undefined && { cpfDisponivel }),
      traceId: row.validation.slice('validation-'.length),
      requestedAt: row.requested_at,
    }
  }

  return {
    get,
    async validate({ id, cpf: text, claims: given }, ask = {}) {
      area.require('validationService')
      checkId(id, 'validation id')
      const cpf = parseCpf(text)
      const claims = parseClaims(given)
      const validation = area.createId()
      return commands.send(
        { method: 'validations.validate', cpf, claims },
        async () => {
          const { subject, targets, claims: met = [] } = await subjects.meet(cpf, 'validation')
          const parts = { claims: { owner: `subject-${subject}`, value: claims } }
          const message = { type: 'validation.request', data: { validation, id, subject }, parts }
          return {
            targets: [...targets, { stream: `validation-${validation}`, message, isNew: true }],
            claims: met,
          }
        },
        { ...ask, commandId: id },
        async () => {
          const answered = await get(id)
          if (!answered) throw new TypeError('A validation was answered and is not in its view')
          return answered
        },
      )
    },
  }
}

/** Checks the shape of claims, and names what is wrong by its field, never by its value. */
function parseClaims(given: Claims): Json {
  const parsed = claimsSchema.safeParse(given)
  if (parsed.success) return JSON.parse(JSON.stringify(parsed.data))
  const fields = parsed.error.issues.map(issue => {
    const names = issue.code === 'unrecognized_keys' ? issue.keys : []
    return [...issue.path, ...names].join('.')
  })
  throw new AverbaError(
    'INVALID_INPUT',
    `Cannot validate: wrong claims${fields.some(Boolean) ? ` at ${fields.join(', ')}` : ''}`,
    {
      hint: 'Use the fields of the contract: texts, whole numbers, and dates as YYYY-MM-DD',
    },
  )
}

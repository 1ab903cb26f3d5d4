import { z } from 'zod'
import { recipientIdForms, recipientKinds } from '../../adapters/portal/wire.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { describeIssues } from '../faults/fault.ts'
import type { Memory } from './memory.ts'

/**
 * What the simulated services do where the contracts are silent. docs/unspecified.md describes every policy. The first
 * setting of each is the default.
 */

const text = z.string().min(1).max(500)

const clients = z.array(text).readonly()

const consentPolicies = z.strictObject({
  /** The answer for a record that does not exist: 404 or 400. */
  missingRecord: z.enum(['notFound', 'badRequest']).optional(),
  /** The answer to a status change that the table does not allow. */
  moveOutsideTable: z.enum(['badRequest', 'conflict', 'unchanged', 'accept']).optional(),
  /** Whether PENDENTE and ATIVO become EXPIRADO at `dataExpiracao`. */
  expiry: z.enum(['atExpiry', 'never']).optional(),
  /** The format of date-times: UTC, or Brasilia time without a zone. */
  dates: z.enum(['utc', 'zoneless']).optional(),
  /** The clients of operations 1 to 5, by the name in their certificate: one list, or one per operation; else all. */
  authorizedClients: z.union([clients, z.partialRecord(z.enum(['1', '2', '3', '4', '5']), clients)]).optional(),
})

const tokenPolicies = z.strictObject({
  /** The answer while a token is valid: the same token, or a new one that revokes it. */
  reissue: z.enum(['same', 'revoke']).optional(),
  /** The length of a token: 40 characters for old contracts, 36 for newer ones. */
  characters: z.literal([40, 36]).optional(),
  errors: z.enum(['json', 'xml']).optional(),
})

const validationPolicies = z.strictObject({
  /** The format of the gateway's errors. */
  errors: z.enum(['json', 'xml']).optional(),
  /** Other headers than the documented `Accept` and `Content-Type`. */
  otherHeaders: z.enum(['accept', 'refuse']).optional(),
  /** Whether a request must contain the CPF. */
  required: z.enum(['nothing', 'key']).optional(),
  /** The answer for a person who is not in the registry: `cpf_disponivel` false, or 404. */
  unknownPerson: z.enum(['unavailable', 'notFound']).optional(),
  /** `cnh.nome`, which requests do not have: compared with the claimed `nome` if a licence is claimed, or absent. */
  licenceName: z.enum(['compared', 'absent']).optional(),
})

const recipient = z
  .strictObject({
    tipo: z.enum(recipientKinds),
    /** Eleven digits of a CPF, fourteen characters of a CNPJ, or the code of a public body. */
    id: text,
  })
  .refine(({ tipo, id }) => recipientIdForms[tipo].test(id), {
    path: ['id'],
    error: 'must have the format of its tipo',
  })

const represents = z.union([z.literal('everyone'), z.array(recipient).readonly()])

/** Headers with valid names and values. */
const headers = z
  .record(z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/), z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/))
  .refine(given => Object.keys(given).length > 0, { error: 'needs a header that identifies the user' })

const portalUser = z.strictObject({
  headers: headers.readonly(),
  /** The recipients whose notifications this user gets; everyone when absent. */
  represents: represents.optional(),
})

const portalPolicies = z.strictObject({
  /** How callers are identified: by fixed headers, not at all, or by the publicly known login. */
  authentication: z.enum(['headers', 'none', 'session']).optional(),
  /** Whether a session token counts that is not the newest one, but at most an hour old. */
  olderTokens: z.enum(['accept', 'refuse']).optional(),
  /** The recipients whom the first user represents: everyone, or the listed ones. */
  represents: represents.optional(),
  /** Further users, identified by their headers. */
  users: z.array(portalUser).readonly().optional(),
  /** A second active subscription for the same event. */
  duplicateEvent: z.enum(['refuse', 'accept']).optional(),
  /** What a change does to optional fields that it omits. */
  omittedFields: z.enum(['clear', 'keep']).optional(),
  /** A change whose body has another id than the path. */
  differingId: z.enum(['refuse', 'path']).optional(),
  /** The statuses that make a delivery a success. */
  success: z.enum(['2xx', '200']).optional(),
  /** A subscription without any delivery for thirty days. */
  silence: z.enum(['keep', 'delete']).optional(),
  /** What the 3500 ms include: all, up to the headers of the answer, or all but connecting. */
  processingTime: z.enum(['exchange', 'answer', 'processing']).optional(),
  /** How often a delivery is tried, without pause, before it counts as failed: 1 by default. */
  tries: z.int().min(1).max(100).optional(),
  /** A redirect: a failure, or the portal repeats the POST at the new location. */
  redirects: z.enum(['fail', 'follow']).optional(),
})

/** All policies, by service. */
export const policiesSchema = z.strictObject({
  consentService: consentPolicies.optional(),
  tokenService: tokenPolicies.optional(),
  validationService: validationPolicies.optional(),
  portal: portalPolicies.optional(),
})

/** What the simulated services do where the contracts are silent. docs/unspecified.md describes every policy. */
export type Policies = z.infer<typeof policiesSchema>
export type ConsentPolicies = z.infer<typeof consentPolicies>
export type TokenPolicies = z.infer<typeof tokenPolicies>
export type ValidationPolicies = z.infer<typeof validationPolicies>
/** The policies of the portal, where document 3 is silent. */
export type PortalPolicies = z.infer<typeof portalPolicies>

/** What every simulated service with a clock needs: time, randomness, a memory, and its policies. */
export interface ServiceOptions<P> {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly memory: Memory
  readonly policies?: P | undefined
}

/**
 * Validates policies.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function parsePolicies(given: unknown = {}): Policies {
  const { data, error } = policiesSchema.safeParse(given)
  if (data) return data
  throw new AverbaError('INVALID_INPUT', `Cannot set the policies: ${describeIssues(error, 'policies')}`, {
    hint: 'See docs/unspecified.md for every policy and its settings',
  })
}

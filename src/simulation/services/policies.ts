import { z } from 'zod'
import { recipientIdForms, recipientKinds } from '../../adapters/portal/wire.ts'
import { AverbaError } from '../../vocabulary/errors.ts'

/**
 * What the simulated services do where the contracts are silent: docs/unspecified.md has every name. The first
 * setting of each is the default. The types follow from the schemas, which take no other member and no other value.
 */

/** A name or a value in a setting. */
const text = z.string().min(1).max(500)

const clients = z.array(text).readonly()

const consentPolicies = z.strictObject({
  /** A record that is not there. */
  missingRecord: z.enum(['notFound', 'badRequest']).optional(),
  /** A move that the table does not have. */
  moveOutsideTable: z.enum(['badRequest', 'conflict', 'unchanged', 'accept']).optional(),
  /** Whether PENDENTE and ATIVO become EXPIRADO when `dataExpiracao` has come. */
  expiry: z.enum(['atExpiry', 'never']).optional(),
  /** How date-times are written: in UTC, or in Brasilia without a zone. */
  dates: z.enum(['utc', 'zoneless']).optional(),
  /**
   * The clients that operations 1 to 5 are open to, by the name in their certificate: the same for the five, or
   * by the number of the operation. What is absent is open to all.
   */
  authorizedClients: z
    .union([
      clients,
      z.strictObject({
        1: clients.optional(),
        2: clients.optional(),
        3: clients.optional(),
        4: clients.optional(),
        5: clients.optional(),
      }),
    ])
    .optional(),
})

const tokenPolicies = z.strictObject({
  /** A request while a token lives: the same token again, or a new one that ends the old. */
  reissue: z.enum(['same', 'revoke']).optional(),
  /** How long a token is: 40 characters for old contracts, 36 for newer ones. */
  characters: z.literal([40, 36]).optional(),
  /** How errors are written. */
  errors: z.enum(['json', 'xml']).optional(),
})

const validationPolicies = z.strictObject({
  /** How the gateway writes its errors. */
  errors: z.enum(['json', 'xml']).optional(),
  /** Other headers than the documented `Accept` and `Content-Type`. */
  otherHeaders: z.enum(['accept', 'refuse']).optional(),
  /** What a request must hold: nothing, or the CPF, without which there is nothing to compare. */
  required: z.enum(['nothing', 'key']).optional(),
  /** A person who is not in the registry: `cpf_disponivel` false, or 404. */
  unknownPerson: z.enum(['unavailable', 'notFound']).optional(),
  /** `cnh.nome`, which no request holds: the claimed `nome` is compared where a licence is claimed, or nothing. */
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
    error: 'it is not in the format of its tipo',
  })

const represents = z.union([z.literal('everyone'), z.array(recipient).readonly()])

/** What a header may be called and hold. */
const headers = z
  .record(
    z.string().regex(/^[!#$%&'*+.^_`|~\w-]+$/),
    z.string().regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/),
  )
  .refine(given => Object.keys(given).length > 0, { error: 'it needs a header that tells the user apart' })

const portalUser = z.strictObject({
  /** The headers that a call of this user carries. */
  headers: headers.readonly(),
  /** Who gives this user their notifications; everyone when absent. */
  represents: represents.optional(),
})

const portalPolicies = z.strictObject({
  /** How callers are known: by headers that are fixed, not at all, or by the login that is publicly known. */
  authentication: z.enum(['headers', 'none', 'session']).optional(),
  /** A token of the session that is not the newest one, but not older than an hour. */
  olderTokens: z.enum(['accept', 'refuse']).optional(),
  /** Whom the first user represents: everyone, or the named ones. */
  represents: represents.optional(),
  /** Further users, where headers tell them apart. */
  users: z.array(portalUser).readonly().optional(),
  /** A second active subscription for an event. */
  duplicateEvent: z.enum(['refuse', 'accept']).optional(),
  /** What leaving out an optional field means on a change. */
  omittedFields: z.enum(['clear', 'keep']).optional(),
  /** An id in the body of a change that is not the one in the path. */
  differingId: z.enum(['refuse', 'path']).optional(),
  /** Which answers make a delivery a success. */
  success: z.enum(['2xx', '200']).optional(),
  /** A subscription that nothing was delivered to for thirty days. */
  silence: z.enum(['keep', 'delete']).optional(),
  /**
   * What the 3500 ms include: connecting, the request and the whole answer; the same up to the head of the
   * answer; or that without connecting.
   */
  processingTime: z.enum(['exchange', 'answer', 'processing']).optional(),
  /** How often a delivery that fails is tried, at once, before it counts as failed: 1 by default. */
  tries: z.int().min(1).max(100).optional(),
  /** An answer that leads elsewhere: a failure, or the same POST goes there. */
  redirects: z.enum(['fail', 'follow']).optional(),
})

/** All policies, by service. */
export const policiesSchema = z.strictObject({
  consentService: consentPolicies.optional(),
  tokenService: tokenPolicies.optional(),
  validationService: validationPolicies.optional(),
  portal: portalPolicies.optional(),
})

/** What the simulated services do where the contracts are silent: docs/unspecified.md has every name. */
export type Policies = z.infer<typeof policiesSchema>
/** What document 1 does not show, decided. */
export type ConsentPolicies = z.infer<typeof consentPolicies>
/** What document 2 does not show of the token, decided. */
export type TokenPolicies = z.infer<typeof tokenPolicies>
/** What document 2 does not show of the validation, decided. */
export type ValidationPolicies = z.infer<typeof validationPolicies>
/** What document 3 does not show, decided. */
export type PortalPolicies = z.infer<typeof portalPolicies>
/** A user of the portal, with subscriptions and failure records of its own. */
export type PortalUser = z.infer<typeof portalUser>
/** Whom a notification is for: a natural person, a legal person or a public body (document 3, section 6). */
export type Recipient = z.infer<typeof recipient>

/**
 * Checks policies, none by default, and names what is wrong by its member.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function parsePolicies(given: unknown = {}): Policies {
  const parsed = policiesSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const members = parsed.error.issues.map(issue => `${issue.path.join('.') || 'policies'}: ${issue.message}`)
  throw new AverbaError('INVALID_INPUT', `Cannot set the policies: ${members.join('; ')}`, {
    hint: 'docs/unspecified.md has every policy with its settings',
  })
}

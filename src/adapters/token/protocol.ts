import { z } from 'zod'
import { parseJson } from '../../vocabulary/json.ts'

/** Writes the token request and reads its answer: pure (document 2, sections 2 and 4.1). */

export interface Bearer {
  readonly value: string
  /** Null when the gateway did not say. */
  readonly lifetimeMs: number | null
  /** The names of its scopes, with spaces between them; null when the gateway did not say. */
  readonly scope: string | null
}

/** Writes the token request. Key and secret are joined unescaped: the contract has no escaping. */
export function writeRequestToken(url: string, consumerKey: string, consumerSecret: string): Request {
  const credentials = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')
  return new Request(url, {
    method: 'POST',
    redirect: 'manual', // A host's own `fetch` would send the credentials elsewhere.
    headers: { authorization: `Basic ${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant_type=client_credentials',
  })
}

const tokenSchema = z.object({
  // A token that no header can carry is rejected: it would make every call fail.
  access_token: z
    .string()
    .max(10_000)
    .regex(/^[\x21-\x7e]+$/),
  // Another type is sent in another way: it would fail at every call. Case does not count (RFC 6749, section 5.1).
  token_type: z
    .string()
    .regex(/^bearer$/i)
    .nullish(),
  scope: z
    .string()
    .max(1_000)
    .regex(/^[\x20-\x7e]*$/)
    .nullish()
    .catch(null),
  // The unit is not documented: seconds by our policy, as in OAuth 2.0. Digits as text are accepted too.
  expires_in: z.coerce.number().int().nonnegative().max(31_536_000).nullish().catch(null),
})

/** Reads a token; `undefined` when the answer has no bearer token. */
export function readToken(text: string): Bearer | undefined {
  const { data } = tokenSchema.safeParse(parseJson(text))
  if (!data) return undefined
  const { access_token, expires_in, scope = null } = data
  return { value: access_token, lifetimeMs: typeof expires_in === 'number' ? expires_in * 1_000 : null, scope }
}

/** OAuth 2.0 (RFC 6749, sections 4.1.2.1 and 5.2): these are about the client, the others about the request. */
const clientErrors = ['invalid_client', 'unauthorized_client', 'access_denied']

const codeMax = 200
const errorSchema = z.object({ error: z.string().max(codeMax) })
const faultSchema = z.object({ fault: z.object({ code: z.coerce.string().max(codeMax) }) })

/**
 * Reports whether the token endpoint says that the consumer key or secret is wrong. Document 2 does not show it, so
 * this is our policy: a 401 says so, and a 400 or 403 with a body that does, as OAuth 2.0 or as a gateway's fault
 * (`9009..`, publicly known). Other refusals come from something else, such as a proxy.
 */
export function refusesCredentials({ status, text }: { readonly status: number; readonly text: string }): boolean {
  if (status === 401) return true
  if (status !== 400 && status !== 403) return false
  const code = readErrorCode(text) ?? ''
  return clientErrors.includes(code) || /^9009\d\d$/.test(code)
}

function readErrorCode(text: string): string | undefined {
  const [, inXml = ''] = /<(?:\w+:)?code>\s*(\w+)\s*<\//.exec(text) ?? []
  if (inXml !== '' && inXml.length <= codeMax) return inXml
  const json = parseJson(text)
  return errorSchema.safeParse(json).data?.error ?? faultSchema.safeParse(json).data?.fault.code
}

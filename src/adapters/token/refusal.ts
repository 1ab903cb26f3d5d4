import { z } from 'zod'
import { parseJson } from '../../vocabulary/json.ts'

/** OAuth 2.0 (RFC 6749, sections 4.1.2.1 and 5.2): these are about the client, the others about the request. */
const clientErrors = ['invalid_client', 'unauthorized_client', 'access_denied']

const errorSchema = z.object({ error: z.string().max(200) })
const faultSchema = z.object({ fault: z.object({ code: z.coerce.string().max(200) }) })

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
  const [, inXml] = /<(?:\w+:)?code>\s*(\w{1,200})\s*<\//.exec(text) ?? []
  if (inXml !== undefined) return inXml
  const json = parseJson(text)
  return errorSchema.safeParse(json).data?.error ?? faultSchema.safeParse(json).data?.fault.code
}

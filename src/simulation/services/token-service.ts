import { Hono } from 'hono'
import { tokenRequestSchema, tokenResponseSchema } from '../../adapters/token/wire.ts'
import { refuseOtherMethods } from './other-methods.ts'
import type { ServiceOptions, TokenPolicies } from './policies.ts'

interface TokenServiceOptions extends ServiceOptions<TokenPolicies> {
  readonly consumerKey: string
  readonly consumerSecret: string
}

const lifetimeMs = 3_600_000

/** The token endpoint as document 2 describes it. */
export type TokenSimulator = Readonly<ReturnType<typeof simulateTokenService>>

/** Creates a token endpoint for one contract. What document 2 does not show is a policy of docs/unspecified.md. */
export function simulateTokenService(options: TokenServiceOptions) {
  const { clock, entropy, memory, consumerKey, consumerSecret } = options
  const { reissue = 'same', characters = 40, errors = 'json' } = options.policies ?? {}
  const expected = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')
  const current = memory.keep('token', { token: '', endsAt: 0 })
  const refuse = (status: number, error: string) => {
    const response = errors === 'json' ? Response.json({ error }, { status }) : xmlFault(status, { code: error })
    if (status === 401) response.headers.set('www-authenticate', 'Basic realm="token"')
    return response
  }

  const app = new Hono()
  app.post('/token', async context => {
    simulator.requests += 1
    if (contentType(context.req.raw) !== 'application/x-www-form-urlencoded') return refuse(415, 'invalid_request')
    if (credentialsOf(context.req.raw, 'basic') !== expected) return refuse(401, 'invalid_client')
    const form = Object.fromEntries(new URLSearchParams(await context.req.text()))
    if (!tokenRequestSchema.safeParse(form).success) return refuse(400, 'unsupported_grant_type')
    if (current.endsAt <= clock.now() || reissue === 'revoke') {
      current.token = Buffer.from(entropy.bytes(20)).toString('hex').slice(0, characters)
      current.endsAt = clock.now() + lifetimeMs
    }
    simulator.issued += 1
    const { token, endsAt } = current
    const expires_in = Math.ceil((endsAt - clock.now()) / 1_000)
    const answer = { access_token: token, token_type: 'Bearer', scope: 'default', expires_in }
    return context.json(tokenResponseSchema.parse(answer))
  })
  refuseOtherMethods(app, () => refuse(405, 'invalid_request'))

  const simulator = {
    fetch: async (request: Request) => app.fetch(request),
    /** Reports whether a bearer token is valid now. */
    isValid: (candidate: string) => candidate !== '' && candidate === current.token && current.endsAt > clock.now(),
    /** Ends the current token early. */
    expire(): void {
      current.endsAt = 0
    },
    /** The number of requests that were answered with a token. */
    issued: 0,
    /** The number of requests, refused ones included. */
    requests: 0,
  }
  return simulator
}

/** The media type of a request's body, without its parameters. */
export function contentType({ headers }: Request): string | undefined {
  return headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
}

/** The credentials of a request, after the name of their scheme, whose case does not count (RFC 9110, section 11.1). */
export function credentialsOf({ headers }: Request, scheme: 'basic' | 'bearer'): string {
  const [given = '', credentials = ''] = (headers.get('authorization') ?? '').split(' ', 2)
  return given.toLowerCase() === scheme ? credentials : ''
}

/** An error of the gateway in front of both services. Its XML is publicly known. The texts need no escaping. */
export function xmlFault(status: number, members: Readonly<Record<string, string | number>>): Response {
  const texts = Object.entries(members).map(([name, value]) => `<ams:${name}>${value}</ams:${name}>`)
  const body = `<ams:fault xmlns:ams="http://wso2.org/apimanager/security">${texts.join('')}</ams:fault>`
  return new Response(body, { status, headers: { 'content-type': 'application/xml' } })
}

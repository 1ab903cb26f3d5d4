import { Hono } from 'hono'
import { tokenRequestSchema, tokenResponseSchema } from '../../adapters/token/wire.ts'
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
  const { clock, entropy, consumerKey, consumerSecret } = options
  const { reissue = 'same', characters = 40, errors = 'json' } = options.policies ?? {}
  const expected = `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`
  let token = ''
  let endsAt = 0
  const refuse = (status: number, error: string) =>
    errors === 'json' ? Response.json({ error }, { status }) : xmlFault(status, { code: error })

  const app = new Hono()
  app.post('/token', async context => {
    simulator.requests += 1
    if (mediaType(context.req.raw, 'content-type') !== 'application/x-www-form-urlencoded')
      return refuse(415, 'invalid_request')
    if (context.req.header('authorization') !== expected) return refuse(401, 'invalid_client')
    const form = Object.fromEntries(new URLSearchParams(await context.req.text()))
    if (!tokenRequestSchema.safeParse(form).success) return refuse(400, 'unsupported_grant_type')
    if (endsAt <= clock.now() || reissue === 'revoke') {
      token = Buffer.from(entropy.bytes(20)).toString('hex').slice(0, characters)
      endsAt = clock.now() + lifetimeMs
    }
    simulator.issued += 1
    const expires_in = Math.ceil((endsAt - clock.now()) / 1_000)
    const answer = { access_token: token, token_type: 'Bearer', scope: 'default', expires_in }
    return context.json(tokenResponseSchema.parse(answer))
  })

  const simulator = {
    fetch: async (request: Request) => app.fetch(request),
    /** Reports whether a bearer token is valid now. */
    isValid: (candidate: string) => candidate !== '' && candidate === token && endsAt > clock.now(),
    /** Ends the current token early. */
    expire(): void {
      endsAt = 0
    },
    /** The number of requests that were answered with a token. */
    issued: 0,
    /** The number of requests, refused ones included. */
    requests: 0,
  }
  return simulator
}

/** The type that a header of a request names, without its parameters. */
export function mediaType({ headers }: Request, name: 'accept' | 'content-type'): string | undefined {
  return headers.get(name)?.split(';')[0]?.trim().toLowerCase()
}

/** An error of the gateway in front of both services. Its XML is publicly known. The texts need no escaping. */
export function xmlFault(status: number, members: Readonly<Record<string, string | number>>): Response {
  const texts = Object.entries(members).map(([name, value]) => `<ams:${name}>${value}</ams:${name}>`)
  const body = `<ams:fault xmlns:ams="http://wso2.org/apimanager/security">${texts.join('')}</ams:fault>`
  return new Response(body, { status, headers: { 'content-type': 'application/xml' } })
}

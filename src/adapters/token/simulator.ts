import { Hono } from 'hono'
import type { Clock, Entropy } from '../../clock.ts'
import { tokenResponseSchema } from './wire.ts'

/** The token endpoint as document 2 describes it. What it does not show is a policy of docs/unspecified.md. */
export interface TokenSimulator {
  fetch(request: Request): Promise<Response>
  /** Reports whether a bearer token would be accepted now. */
  isValid(token: string): boolean
  /** Ends the current token before its time. */
  expire(): void
  /** How many token requests were answered with a token. */
  readonly issued: number
  /** How many requests came, refused ones included. */
  readonly requests: number
}

interface Options {
  readonly clock: Clock
  readonly entropy: Entropy
  readonly consumerKey: string
  readonly consumerSecret: string
}

const lifetimeMs = 3_600_000

/** Makes a token endpoint for one contract. */
export function simulateTokenService(options: Options): TokenSimulator {
  const { clock, entropy, consumerKey, consumerSecret } = options
  const expected = `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`
  let token = ''
  let endsAt = 0
  let issued = 0
  let requests = 0

  const app = new Hono()
  app.post('/token', async context => {
    requests += 1
    const type = context.req.header('content-type')?.split(';')[0]?.trim().toLowerCase()
    if (type !== 'application/x-www-form-urlencoded') {
      return context.json({ error: 'invalid_request', error_description: 'Unsupported Media Type' }, 415)
    }
    if (context.req.header('authorization') !== expected)
      return context.json({ error: 'invalid_client' }, 401)
    if (new URLSearchParams(await context.req.text()).get('grant_type') !== 'client_credentials') {
      return context.json({ error: 'unsupported_grant_type' }, 400)
    }
    if (endsAt <= clock.now()) {
      token = Buffer.from(entropy.bytes(20)).toString('hex')
      endsAt = clock.now() + lifetimeMs
    }
    issued += 1
    const expires_in = Math.ceil((endsAt - clock.now()) / 1_000)
    const answer = { access_token: token, token_type: 'Bearer', scope: 'default', expires_in }
    return context.json(tokenResponseSchema.parse(answer))
  })

  return {
    fetch: async request => app.fetch(request),
    isValid: candidate => candidate !== '' && candidate === token && endsAt > clock.now(),
    expire() {
      endsAt = 0
    },
    get issued() {
      return issued
    },
    get requests() {
      return requests
    },
  }
}

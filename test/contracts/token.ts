import { expect, test } from 'vitest'
import { readToken, writeRequestToken } from '../../src/adapters/token/protocol.ts'
import { tokenResponseSchema } from '../../src/adapters/token/wire.ts'
import type { TokenPolicies } from '../../src/simulation/services/policies.ts'
import { consumerKey, consumerSecret, exact, exactText, open, secondMs } from './opened-services.ts'

const hourMs = 3_600 * secondMs
const authorization = `Basic ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`
const type = 'application/x-www-form-urlencoded'

async function given(policies: TokenPolicies = {}) {
  const opened = await open({ tokenService: policies })
  const { at, send } = opened
  const ask = (key: string = consumerKey, secret: string = consumerSecret) =>
    send(writeRequestToken(at.tokenService, key, secret))
  const token = () => exact(tokenResponseSchema, ask())
  const post = (body: BodyInit, headers: Record<string, string> = { authorization, 'content-type': type }) =>
    send(new Request(at.tokenService, { method: 'POST', headers, body }))
  return { ...opened, ask, token, post }
}

/** Document 2, section 4.1 and related parts, line by line. */
export function tokenContract(): void {
  test('a token is answered with access_token, token_type, scope and expires_in, and no others', async () => {
    const { ask } = await given()
    const { body, text } = await exactText(tokenResponseSchema, ask())
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[0-9a-f]{40}$/),
      token_type: 'Bearer',
      scope: expect.stringMatching(/^\S+( \S+)*$/),
      expires_in: 3_600,
    })
    expect(readToken(text)).toEqual({ value: body.access_token, lifetimeMs: hourMs, scope: 'default' })
  })

  test('the key and the secret are sent as HTTP Basic, and grant_type in a form', async () => {
    const { at, post } = await given()
    expect(new URL(at.tokenService).pathname).toBe('/token')
    const written = writeRequestToken(at.tokenService, consumerKey, consumerSecret)
    expect(written.method).toBe('POST')
    expect(written.headers.get('authorization')).toBe(authorization)
    expect(await written.text()).toBe('grant_type=client_credentials')
    const headers = { authorization, 'content-type': `${type}; charset=utf-8` }
    expect((await post('grant_type=client_credentials', headers)).status).toBe(200)
  })

  test('a token request with another Content-Type is a 415', async () => {
    const { post, tokenService } = await given()
    const form = 'grant_type=client_credentials'
    const json = { authorization, 'content-type': 'application/json' }
    expect((await post('{"grant_type":"client_credentials"}', json)).status).toBe(415)
    expect((await post(form, { authorization, 'content-type': 'text/plain' })).status).toBe(415)
    expect((await post(new TextEncoder().encode(form), { authorization })).status).toBe(415)
    expect(tokenService.issued).toBe(0)
  })

  test('the scheme of the authorization counts in any case, and other methods are a 405', async () => {
    const { at, send, post } = await given()
    const headers = { authorization: authorization.replace('Basic', 'bAsIC'), 'content-type': type }
    expect((await post('grant_type=client_credentials', headers)).status).toBe(200)
    const refused = await send(new Request(at.tokenService, { headers }))
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST'])
  })

  test('wrong credentials are a 401', async () => {
    const { ask, post, tokenService } = await given()
    expect((await ask('outra-chave')).status).toBe(401)
    expect((await ask(consumerKey, 'outro-segredo')).status).toBe(401)
    const refused = await post('grant_type=client_credentials', { 'content-type': type })
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="token"'])
    expect(tokenService.issued).toBe(0)
  })

  test('another grant_type, or none, is a 400', async () => {
    const { post } = await given()
    for (const body of ['grant_type=password', 'x=y']) expect((await post(body)).status).toBe(400)
  })

  test('by policy an error is written in XML', async () => {
    const { post } = await given({ errors: 'xml' })
    for (const [status, change] of [
      [400, {}],
      [401, { authorization: 'Basic x' }],
      [415, { 'content-type': 'text/plain' }],
    ] as const) {
      const response = await post('x=y', { authorization, 'content-type': type, ...change })
      expect([response.status, response.headers.get('content-type')]).toEqual([status, 'application/xml'])
    }
  })

  test('while a token is valid the same one is returned, with its remaining lifetime', async () => {
    const { token, clock, tokenService } = await given()
    const { access_token } = await token()
    await clock.advance(20 * 60 * secondMs)
    expect(await token()).toMatchObject({ access_token, expires_in: 2_400 })
    await clock.advance(40 * 60 * secondMs - 1)
    expect(await token()).toMatchObject({ access_token, expires_in: 1 })
    expect(tokenService.isValid(access_token)).toBe(true)
    await clock.advance(1)
    expect(tokenService.isValid(access_token)).toBe(false)
    expect(await token()).toMatchObject({ access_token: expect.not.stringMatching(access_token), expires_in: 3_600 })
  })
}

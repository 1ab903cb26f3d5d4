import { describe, expect, test } from 'vitest'
import { readToken, writeRequestToken } from '../../src/adapters/token/protocol.ts'
import { tokenResponseSchema } from '../../src/adapters/token/wire.ts'
import type { TokenPolicies } from '../../src/simulation/services/policies.ts'
import { consumerKey, consumerSecret, exact, type Open, secondMs } from './opened-services.ts'

const hourMs = 3_600 * secondMs

/** Document 2, section 4.1 and related parts, line by line, in process or over TLS. */
export function tokenContract(open: Open): void {
  describe('the token service', () => {
    const given = async (policies: TokenPolicies = {}) => {
      const opened = await open({ tokenService: policies })
      const { at, send } = opened
      const ask = (key: string = consumerKey, secret: string = consumerSecret) =>
        send(writeRequestToken(at.tokenService, key, secret))
      return { ...opened, ask }
    }

    test('a token is answered with access_token, token_type, scope and expires_in, and no others', async () => {
      const { ask } = await given()
      const response = await ask()
      const text = await response.clone().text()
      expect(await exact(tokenResponseSchema, response)).toEqual({
        access_token: expect.stringMatching(/^[0-9a-f]{40}$/),
        token_type: 'Bearer',
        scope: expect.stringMatching(/^\S+( \S+)*$/),
        expires_in: 3_600,
      })
      expect(readToken(text)).toEqual({ value: JSON.parse(text).access_token, lifetimeMs: hourMs, scope: 'default' })
    })

    test('the key and the secret are sent as HTTP Basic, and grant_type in a form', async () => {
      const { at, send } = await given()
      const credentials = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')
      const request = new Request(at.tokenService, {
        method: 'POST',
        headers: {
          authorization: `Basic ${credentials}`,
          'content-type': 'application/x-www-form-urlencoded; charset=utf-8',
        },
        body: 'grant_type=client_credentials',
      })
      expect(new URL(request.url).pathname).toBe('/token')
      const written = writeRequestToken(at.tokenService, consumerKey, consumerSecret)
      expect(written.method).toBe('POST')
      expect(written.headers.get('authorization')).toBe(request.headers.get('authorization'))
      expect(await written.text()).toBe('grant_type=client_credentials')
      expect((await send(request)).status).toBe(200)
    })

    test('a token request with another Content-Type is a 415', async () => {
      const { at, send, tokenService } = await given()
      const { headers } = writeRequestToken(at.tokenService, consumerKey, consumerSecret)
      const authorization = headers.get('authorization') ?? ''
      const bodies: [string, BodyInit][] = [
        ['application/json', '{"grant_type":"client_credentials"}'],
        ['text/plain', 'grant_type=client_credentials'],
        ['', new TextEncoder().encode('grant_type=client_credentials')],
      ]
      for (const [type, body] of bodies) {
        const init = { authorization, ...(type !== '' && { 'content-type': type }) }
        const response = await send(new Request(at.tokenService, { method: 'POST', headers: init, body }))
        expect(response.status, type).toBe(415)
      }
      expect(tokenService.issued).toBe(0)
    })

    test('the scheme of the authorization counts in any case, and other methods are a 405', async () => {
      const { at, send } = await given()
      const authorization = `bAsIC ${Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')}`
      const headers = { authorization, 'content-type': 'application/x-www-form-urlencoded' }
      const body = 'grant_type=client_credentials'
      expect((await send(new Request(at.tokenService, { method: 'POST', headers, body }))).status).toBe(200)
      const refused = await send(new Request(at.tokenService, { headers }))
      expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'POST'])
    })

    test('wrong credentials are a 401', async () => {
      const { at, send, ask, tokenService } = await given()
      expect((await ask('outra-chave')).status).toBe(401)
      expect((await ask(consumerKey, 'outro-segredo')).status).toBe(401)
      const without = writeRequestToken(at.tokenService, consumerKey, consumerSecret)
      without.headers.delete('authorization')
      const refused = await send(without)
      expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Basic realm="token"'])
      expect(tokenService.issued).toBe(0)
    })

    test('another grant_type, or none, is a 400', async () => {
      const { at, send } = await given()
      const { headers } = writeRequestToken(at.tokenService, consumerKey, consumerSecret)
      for (const body of ['grant_type=password', 'x=y']) {
        const response = await send(new Request(at.tokenService, { method: 'POST', headers, body }))
        expect(response.status).toBe(400)
      }
    })

    test('by policy an error is written in XML', async () => {
      const { at, send } = await given({ errors: 'xml' })
      const { headers } = writeRequestToken(at.tokenService, consumerKey, consumerSecret)
      const statuses: number[] = []
      for (const change of [{}, { authorization: 'Basic x' }, { 'content-type': 'text/plain' }]) {
        const init = { method: 'POST', headers: { ...Object.fromEntries(headers), ...change }, body: 'x=y' }
        const response = await send(new Request(at.tokenService, init))
        expect(response.headers.get('content-type')).toBe('application/xml')
        statuses.push(response.status)
      }
      expect(statuses).toEqual([400, 401, 415])
    })

    test('while a token is valid the same one is returned, with its remaining lifetime', async () => {
      const { ask, clock } = await given()
      const first = await exact(tokenResponseSchema, await ask())
      await clock.advance(20 * 60 * secondMs)
      const second = await exact(tokenResponseSchema, await ask())
      expect(second).toMatchObject({ access_token: first.access_token, expires_in: 2_400 })
      await clock.advance(40 * 60 * secondMs - 1)
      const third = await exact(tokenResponseSchema, await ask())
      expect(third).toMatchObject({ access_token: first.access_token, expires_in: 1 })
    })

    test('a token expires after an hour, and the next one is different', async () => {
      const { ask, clock, tokenService } = await given()
      const first = await exact(tokenResponseSchema, await ask())
      await clock.advance(hourMs - 1)
      expect(tokenService.isValid(first.access_token)).toBe(true)
      await clock.advance(1)
      expect(tokenService.isValid(first.access_token)).toBe(false)
      const second = await exact(tokenResponseSchema, await ask())
      expect(second.expires_in).toBe(3_600)
      expect(second.access_token).not.toBe(first.access_token)
    })
  })
}

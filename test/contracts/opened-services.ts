import { expect } from 'vitest'
import type { ZodType } from 'zod'
import { openSocket } from '../../src/adapters/http/transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Policies, samples, seededEntropy, VirtualClock } from '../../src/simulation/index.ts'
import { serveHttps } from '../../src/simulation/served/serve.ts'
import { credentials } from '../../src/simulation/services/create-simulators.ts'
import { Watch } from '../openapi/watch.ts'
import { closeAtEnd } from '../support/close-at-end.ts'
import { openServices } from '../support/world.ts'

export const { consumerKey, consumerSecret, service, portalHeaders } = credentials
export const { cpf, cnpj } = samples
export const otherCnpj = '00000000000191'
export const [secondMs, dayMs] = [1_000, 86_400_000] as const

/** The exchanges of the suite, which are checked against the documents. */
export const watch = new Watch()

/** Opens the four services over TLS for the current test, which closes them at its end. */
export async function open(policies: Policies = {}) {
  const clock = new VirtualClock()
  const services = await openServices({ clock, entropy: seededEntropy(1), policies })
  const { ca, client, options } = services
  const anonymous = { clock: systemClock, ca }
  const send = closeAtEnd(openSocket({ ...anonymous, certificate: client })).fetch
  return {
    ...services,
    clock,
    /** The address of each service; for the token service the full URL. */
    at: {
      consentService: options.consentService.baseUrl,
      tokenService: options.tokenService.url,
      validationService: options.validationService.baseUrl,
      portal: options.portal.baseUrl,
    },
    /** Sends a request to the service of its address, as the client that the consent service knows. */
    send: watch.around(send),
    /** The same without a client certificate. */
    sendWithoutCertificate: watch.around(closeAtEnd(openSocket(anonymous)).fetch),
    /** Receives what is sent to a host on port 443. */
    async receive(host: string, handle: (request: Request) => Response | Promise<Response>) {
      const server = closeAtEnd(await serveHttps(watch.receiver(handle), services.receiver))
      services.connect(host, server.port)
    },
  }
}

/** Reads JSON that has exactly the fields of a schema, at any depth. */
export async function exact<T>(schema: ZodType<T>, answer: Response | Promise<Response>): Promise<T> {
  return (await exactText(schema, answer)).body
}

/** Reads JSON as `exact` does, and keeps its text for the client. */
export async function exactText<T>(schema: ZodType<T>, answer: Response | Promise<Response>) {
  const response = await answer
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  const text = await response.text()
  const body = schema.parse(JSON.parse(text))
  expect(body).toStrictEqual(JSON.parse(text))
  return { body, text }
}

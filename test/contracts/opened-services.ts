import { expect, onTestFinished } from 'vitest'
import type { ZodType } from 'zod'
import { openSocket } from '../../src/adapters/http/transport.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import {
  type Policies,
  type Simulators,
  samples,
  seededEntropy,
  startServices,
  VirtualClock,
} from '../../src/simulation/index.ts'
import { serveHttps } from '../../src/simulation/served/serve.ts'
import { credentials } from '../../src/simulation/services/create-simulators.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { ServiceName } from '../../src/vocabulary/names.ts'
import { Watch } from '../openapi/watch.ts'

/** The four services behind sockets. */
export interface OpenedServices extends Pick<Simulators, ServiceName | 'faults'> {
  readonly clock: VirtualClock
  /** The address of each service; for the token service the full URL. */
  readonly at: Readonly<Record<ServiceName, string>>
  /** Sends a request to the service of its address, as the client that the consent service knows. */
  readonly send: Fetch
  /** The same without a client certificate. */
  readonly sendWithoutCertificate: Fetch
  /** Receives what is sent to a host on port 443. */
  receive(host: string, handle: (request: Request) => Response | Promise<Response>): Promise<void>
}

/** Opens services for the current test, which closes them at its end. Exchanges are checked against the documents. */
export interface Open {
  (policies?: Policies): Promise<OpenedServices>
  /** The exchanges so far. */
  readonly watch: Watch
}

export const { consumerKey, consumerSecret, service, portalHeaders } = credentials
export const { cpf, cnpj } = samples
export const otherCnpj = '00000000000191'
export const [secondMs, dayMs] = [1_000, 86_400_000] as const

function watched(open: (policies?: Policies) => Promise<OpenedServices>): Open {
  const watch = new Watch()
  const watchedOpen = async (policies?: Policies) => {
    const opened = await open(policies)
    const receive: OpenedServices['receive'] = (host, handle) => opened.receive(host, watch.receiver(handle))
    const { send, sendWithoutCertificate } = opened
    return {
      ...opened,
      receive,
      send: watch.around(send),
      sendWithoutCertificate: watch.around(sendWithoutCertificate),
    }
  }
  return Object.assign(watchedOpen, { watch })
}

/** The simulators behind HTTPS servers on this machine, and a client with a certificate. */
export const openOverTls: Open = watched(async (policies = {}) => {
  const clock = new VirtualClock()
  const services = await startServices({ clock, entropy: seededEntropy(1), policies })
  const { ca, client, options, consentService, tokenService, validationService, portal, faults } = services
  const socket = openSocket({ clock: systemClock, ca, certificate: client })
  const anonymous = openSocket({ clock: systemClock, ca })
  const servers: { close(): Promise<void> }[] = []
  onTestFinished(async () => {
    await Promise.all([socket.close(), anonymous.close()])
    await Promise.all([services.close(), ...servers.map(each => each.close())])
  })
  return {
    ...{ clock, consentService, tokenService, validationService, portal, faults },
    at: {
      consentService: options.consentService.baseUrl,
      tokenService: options.tokenService.url,
      validationService: options.validationService.baseUrl,
      portal: options.portal.baseUrl,
    },
    send: socket.fetch,
    sendWithoutCertificate: anonymous.fetch,
    async receive(host, handle) {
      const server = await serveHttps(handle, services.receiver)
      servers.push(server)
      services.connect(host, server.port)
    },
  }
})

/** Reads JSON that has exactly the fields of a schema, at any depth. */
export async function exact<T>(schema: ZodType<T>, response: Response): Promise<T> {
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  const body: unknown = await response.json()
  const parsed = schema.parse(body)
  expect(parsed).toStrictEqual(body)
  return parsed
}

import type { Claims } from '../../adapters/validation/wire.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import type { ServiceName } from '../../vocabulary/names.ts'
import type { Fault } from '../faults/fault.ts'
import { FaultQueue } from '../faults/fault-queue.ts'
import type { Peer } from '../served/serve.ts'
import { type ConsentSimulator, simulateConsentService } from './consent-service.ts'
import { Memory } from './memory.ts'
import { type Policies, parsePolicies } from './policies.ts'
import type { Deliver } from './portal/deliveries.ts'
import { type PortalSimulator, simulatePortal } from './portal/portal.ts'
import { simulateTokenService, type TokenSimulator } from './token-service.ts'
import { simulateValidationService, type ValidationSimulator } from './validation-service.ts'

/** A fictitious data subject and company that the simulated services know, with correct check digits. */
export const samples = { cpf: '25774435016', cnpj: '12ABC34501DE35' } as const

/** A request that a simulated service received. */
export interface ReceivedRequest {
  readonly at: Instant
  readonly service: string
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Values that may be secret are `***`. */
  readonly headers: Readonly<Record<string, string>>
}

/** The simulated services, for tests that act on the services' side. */
export interface Simulators {
  readonly consentService: ConsentSimulator
  readonly tokenService: TokenSimulator
  readonly validationService: ValidationSimulator
  readonly portal: PortalSimulator
  /** The faults at the services, on the way to them, and on the way to the receiver. */
  readonly faults: FaultQueue
  /** The requests that they received, oldest first, secrets masked. */
  readonly requests: readonly ReceivedRequest[]
  /** Sends a request to a service, with the faults applied. */
  readonly reach: Readonly<Record<ServiceName, SimulatedServer>>
}

type SimulatedServer = (request: Request, peer?: Pick<Peer, 'clientName'>) => Promise<Response>

/** The credentials that the simulated services accept. */
export const credentials = {
  consumerKey: 'chave-de-exemplo',
  consumerSecret: 'segredo-de-exemplo',
  service: 'datavalid-demonstracao',
  portalHeaders: { authorization: 'sessao-de-exemplo' },
} as const

/** Creates the services with their samples. `deliver` sends the portal's notifications. */
export function createSimulators(options: {
  clock: Clock
  entropy: Entropy
  deliver: Deliver
  /** What the services know already; they begin with the samples when absent. */
  memory?: Memory
  policies?: Policies | undefined
  faults?: readonly Fault[] | undefined
  /** Whether servers present the certificates, so that a bad one fails the connection. */
  overTls?: boolean
  /** Called each time that a fault takes effect. */
  onFault?: (fault: Fault) => void
  /** Called with every answer of a service, before a fault changes or loses it. */
  onServed?: (service: ServiceName, request: Request, response: Response) => void
}): Simulators {
  const { clock, entropy, deliver, memory = new Memory() } = options
  const { isNew } = memory
  const policies = parsePolicies(options.policies)
  const faults = new FaultQueue(options)
  for (const fault of options.faults ?? []) faults.add(fault)
  const common = (service: ServiceName) => ({ clock: faults.clockOf(service), entropy, memory })
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  const consentService = simulateConsentService({ ...common('consentService'), policies: policies.consentService })
  const own = { policies: policies.tokenService, consumerKey, consumerSecret }
  const tokenService = simulateTokenService({ ...common('tokenService'), ...own })
  /** A fault may reject a valid token, which then ends too, unless the fault has `ended: false`. */
  const isTokenRejected = () => {
    const fault = faults.nextRejection()
    if (fault && (fault.ended ?? true)) tokenService.expire()
    return fault !== undefined
  }
  const validationService = simulateValidationService({
    service,
    memory,
    isTokenValid: token => tokenService.isValid(token) && !isTokenRejected(),
    policies: policies.validationService,
  })
  const portal = simulatePortal({
    ...common('portal'),
    deliver: (request, progress) => faults.send('receiver', request, through => deliver(through, progress)),
    timer: clock, // A clock skew changes the time of day, not durations.
    headers: portalHeaders,
    policies: policies.portal,
  })
  if (isNew) addSamples(consentService, validationService)
  const requests: ReceivedRequest[] = []
  const through =
    (service: ServiceName, forward: SimulatedServer): SimulatedServer =>
    (request, peer) => {
      recordRequest(requests, service, request, clock)
      return faults.send(service, request, async through => {
        const response = await forward(through, peer)
        options.onServed?.(service, through, response)
        return response
      })
    }
  const reach = {
    consentService: through('consentService', consentService.fetch),
    tokenService: through('tokenService', tokenService.fetch),
    validationService: through('validationService', validationService.fetch),
    portal: through('portal', portal.fetch),
  }
  return { consentService, tokenService, validationService, portal, faults, requests, reach }
}

function addSamples(consentService: ConsentSimulator, validationService: ValidationSimulator): void {
  const { cpf, cnpj } = samples
  consentService.addConsent({ cpf, cnpj })
  consentService.addConsent({ cpf, cnpj, status: 'ATIVO' })
  consentService.addConsent({ cpf, cnpj: '00000000000191' })
  consentService.addConsent({ cpf, cnpj: '00000000000191', status: 'ATIVO' })
  consentService.addAwareness({ cpf, cnpj })
  validationService.addPerson(cpf, samplePerson)
}

/** Has every field of document 2: a claim of all of them is answered in full. */
const samplePerson: Claims = {
  nome: 'MARIA DE EXEMPLO SOUZA',
  sexo: 'F',
  nacionalidade: 1,
  filiacao: { nome_mae: 'JOANA DE EXEMPLO SOUZA', nome_pai: 'JOSE DE EXEMPLO SOUZA' },
  documento: { tipo: 1, numero: '0000000001', orgao_expedidor: 'SSP', uf_expedidor: 'SP' },
  endereco: {
    logradouro: 'RUA DAS FLORES',
    numero: '100',
    complemento: 'APTO 1',
    bairro: 'CENTRO',
    cep: '01001000',
    municipio: 'SAO PAULO',
    uf: 'SP',
  },
  cnh: {
    categoria: 'B',
    numero_registro: '00000000001',
    data_primeira_habilitacao: '2010-02-01',
    data_validade: '2030-01-31',
    registro_nacional_estrangeiro: 'V0000000',
    data_ultima_emissao: '2025-01-31',
    codigo_situacao: '0',
  },
  data_nascimento: '1990-05-17',
  situacao_cpf: 'regular',
}

/** Headers whose values are never secret. */
const plainHeaders = new Set(['accept', 'content-type', 'content-length', 'host', 'user-agent', 'connection'])

/** Above this number the oldest request is dropped. */
const requestsMax = 10_000

/** Adds a request to the list, and masks the values of all headers that may be secret. */
function recordRequest(requests: ReceivedRequest[], service: string, request: Request, clock: Clock): void {
  const { pathname, search } = new URL(request.url)
  const mask = ([name, value]: [string, string]) => [name, plainHeaders.has(name) ? value : '***']
  const headers = Object.fromEntries([...request.headers].map(mask))
  if (requests.length >= requestsMax) requests.shift()
  requests.push({ at: toInstant(clock.now()), service, method: request.method, path: pathname + search, headers })
}

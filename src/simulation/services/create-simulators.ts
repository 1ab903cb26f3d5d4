import type { Clock } from '../../runtime/clock.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import type { ServiceName } from '../../vocabulary/service-name.ts'
import type { Fault } from '../faults/fault.ts'
import { type Connections, FaultQueue } from '../faults/faults.ts'
import type { Peer } from '../served/serve.ts'
import { type ConsentSimulator, simulateConsentService } from './consent-service.ts'
import { type Policies, parsePolicies } from './policies.ts'
import type { Deliver } from './portal/deliveries.ts'
import { type PortalSimulator, simulatePortal } from './portal/portal.ts'
import { noteRequest, type ReceivedRequest } from './received-requests.ts'
import { simulateTokenService, type TokenSimulator } from './token-service.ts'
import { simulateValidationService, type ValidationSimulator } from './validation-service.ts'

/** A made-up data subject and company that the simulated services know, with correct check digits. */
export const samples = { cpf: '25774435016', cnpj: '12ABC34501DE35' } as const

/** The simulated services, to act at their side. */
export interface Simulators {
  readonly consentService: ConsentSimulator
  readonly tokenService: TokenSimulator
  readonly validationService: ValidationSimulator
  readonly portal: PortalSimulator
  /** What goes wrong at them, on the way to them, and on the way to the receiver. */
  readonly faults: FaultQueue
  /** What they received, the oldest first, secrets masked. */
  readonly requests: readonly ReceivedRequest[]
  /** The way to each of them, through the faults. */
  readonly reach: Readonly<Record<ServiceName, SimulatedServer>>
}

type SimulatedServer = (request: Request, peer?: Pick<Peer, 'clientName'>) => Promise<Response>

/** What a client needs to know of the simulated services. */
export const credentials = {
  consumerKey: 'chave-de-exemplo',
  consumerSecret: 'segredo-de-exemplo',
  service: 'datavalid-demonstracao',
  portalHeaders: { authorization: 'sessao-de-exemplo' },
} as const

/** Makes the services with their samples. `deliver` is how the portal's notifications leave. */
export function createSimulators(options: {
  clock: Clock
  entropy: Entropy
  deliver: Deliver
  policies?: Policies
  /** What goes wrong from the start. */
  faults?: readonly Fault[]
  /** The servers in front of them, if any. */
  connections?: Connections
  /** Told of each fault when it befalls something. */
  onFault?: (fault: Fault) => void
  /**
   * Told of every answer of a service, before any fault: what was done there, whether its caller hears of it or not.
   */
  onServed?: (service: ServiceName, request: Request, response: Response) => void
}): Simulators {
  const { clock, entropy, deliver } = options
  const policies = parsePolicies(options.policies)
  const faults = new FaultQueue(clock, entropy, options.connections, options.onFault)
  for (const fault of options.faults ?? []) void faults.add(fault)
  const common = (service: ServiceName) => ({ clock: faults.clockOf(service), entropy })
  const { consumerKey, consumerSecret, service, portalHeaders } = credentials
  const consentService = simulateConsentService({
    ...common('consentService'),
    ...policiesOf(policies.consentService),
  })
  const tokenService = simulateTokenService({
    ...common('tokenService'),
    ...policiesOf(policies.tokenService),
    consumerKey,
    consumerSecret,
  })
  const validationService = simulateValidationService({
    service,
    isTokenValid: token => tokenService.isValid(token) && !isRejectedEarly(faults, tokenService),
    ...policiesOf(policies.validationService),
  })
  const portal = simulatePortal({
    ...common('portal'),
    deliver: faults.around('receiver', deliver),
    timer: clock, // A skewed clock says what time it is, not how long something takes.
    headers: portalHeaders,
    ...policiesOf(policies.portal),
  })
  const { cpf, cnpj } = samples
  consentService.addConsent({ cpf, cnpj })
  consentService.addConsent({ cpf, cnpj, status: 'ATIVO' })
  consentService.addConsent({ cpf, cnpj: '00000000000191' })
  consentService.addConsent({ cpf, cnpj: '00000000000191', status: 'ATIVO' })
  consentService.addAwareness({ cpf, cnpj })
  validationService.addPerson(cpf, samplePerson)
  const requests: ReceivedRequest[] = []
  const through =
    (service: ServiceName, forward: SimulatedServer): SimulatedServer =>
    (request, peer) => {
      noteRequest(requests, service, request, clock)
      const serve = async (through: Request) => {
        const response = await forward(through, peer)
        options.onServed?.(service, through, response)
        return response
      }
      return faults.around(service, serve)(request)
    }
  const reach = {
    consentService: through('consentService', consentService.fetch),
    tokenService: through('tokenService', tokenService.fetch),
    validationService: through('validationService', validationService.fetch),
    portal: through('portal', portal.fetch),
  }
  return { consentService, tokenService, validationService, portal, faults, requests, reach }
}

/** Whether a fault rejects a living token, which then ends unless the fault says otherwise. */
function isRejectedEarly(faults: FaultQueue, tokenService: TokenSimulator): boolean {
  const fault = faults.nextRejection()
  if (fault && (fault.ended ?? true)) tokenService.expire()
  return fault !== undefined
}

function policiesOf<P>(policies: P | undefined): { policies?: P } {
  return policies === undefined ? {} : { policies }
}

const samplePerson = {
  nome: 'MARIA DE EXEMPLO SOUZA',
  sexo: 'F',
  nacionalidade: 1,
  filiacao: { nome_mae: 'JOANA DE EXEMPLO SOUZA', nome_pai: 'JOSE DE EXEMPLO SOUZA' },
  documento: { tipo: 1, numero: '0000000001', orgao_expedidor: 'SSP', uf_expedidor: 'SP' },
  endereco: {
    logradouro: 'RUA DAS FLORES',
    numero: '100',
    bairro: 'CENTRO',
    cep: '01001000',
    municipio: 'SAO PAULO',
    uf: 'SP',
  },
  cnh: { categoria: 'B', numero_registro: '00000000001', data_validade: '2030-01-31' },
  data_nascimento: '1990-05-17',
  situacao_cpf: 'regular',
}

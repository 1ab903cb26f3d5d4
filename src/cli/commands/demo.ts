import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Averba, AverbaError, openAverba, type SubjectRef, valueOf } from '../../index.ts'
import { type RunningServices, startServices, VirtualClock } from '../../simulation/index.ts'
import { dayMs, hourMs } from '../../vocabulary/instant.ts'
import { closeServer } from '../close-server.ts'
import { formatTimelineLine } from '../timeline.ts'

/** The result of the demonstration, as printed with `--json`. */
export interface DemoResult {
  readonly events: number
  readonly views: 'equal' | 'different'
  readonly tokenRequests: number
  readonly validations: number
  readonly deliveries: number
  readonly failures: number
  readonly notifications: number
  readonly deletedByPortal: number
  readonly pending: number
  readonly store: string
  /** The files of the pages: the report of a person, and the report of one of their consents. */
  readonly pages: readonly string[]
}

const host = 'receptor.exemplo.br'
const secondCpf = '52998224725'
const eventos = { duimp: 'dimp-situacao-import', lpco: 'talp-altsit-lpco-anu' } as const

/** Demonstrates every lifecycle against the simulated services over real TLS, with a log in `dir` or a new folder. */
export async function runDemo(say: (line: string) => void, dir?: string): Promise<DemoResult> {
  const store = createStorePath(dir)
  const clock = new VirtualClock()
  const services = await startServices({ clock })
  say('The consent service (mutual TLS), the token gateway, the validation service and the portal are running.')
  say('They use a virtual clock: this demonstration advances it by hours and days.')
  const averba = await openAverba({
    store,
    clock,
    ...services.options,
    consentService: { ...services.options.consentService, redirectUrls: ['https://app.exemplo.br/volta'] },
    receiver: { publicUrl: `https://${host}/averba`, sources: ['127.0.0.0/8'] },
    subscriptions: [
      { evento: eventos.duimp, chaveSecreta: 'chave-secreta-um', chaveAutenticacao: 'Basic ZXhlbXBsbw==' },
      { evento: eventos.lpco, chaveSecreta: 'chave-secreta-dois' },
    ],
    actor: { kind: 'system', ref: 'demo' },
    logger: ({ message, ...rest }) => say(`averba: ${[message, ...Object.values(rest)].join(', ')}`),
  })
  try {
    const subject = await walkConsents(averba, services, say)
    await walkReadings(averba, subject, say)
    await walkValidations(averba, services, clock, say)
    await walkSubscriptions(averba, services, clock, say)
    const result = await summarize(averba, services, store, say)
    return { ...result, pages: await writePages(averba, subject, clock, store, say) }
  } finally {
    await averba.close()
    await services.close()
  }
}

/** Returns the path of a new log: an existing log would refer to other services. */
function createStorePath(dir?: string): string {
  if (dir === undefined) return join(mkdtempSync(join(tmpdir(), 'averba-demo-')), 'averba.sqlite')
  const store = join(resolve(dir), 'averba.sqlite')
  try {
    if (!existsSync(dir)) mkdirSync(dir)
  } catch (cause) {
    throw new AverbaError('STORE_UNSAFE', `Cannot make the folder "${dir}"`, { cause })
  }
  if (!existsSync(store)) return store
  throw new AverbaError('INVALID_INPUT', `Cannot create the log "${store}": it exists already`, {
    hint: 'Name another folder',
  })
}

async function walkConsents(
  averba: Averba,
  services: RunningServices,
  say: (line: string) => void,
): Promise<SubjectRef> {
  const { cpf, cnpj } = services.samples
  services.consentService.addConsent({ cpf: secondCpf, cnpj })
  const subject = await averba.consents.enrol({ cpf })
  const second = await averba.consents.enrol({ cpf: secondCpf })
  const [one, two] = [
    valueOf(await averba.consents.sync({ subject })),
    valueOf(await averba.consents.sync({ subject: second })),
  ]
  say(`Two data subjects were enrolled, and their ${one.read + two.read} consents were read.`)

  const all = await averba.consents.list({ subject })
  const [first, other] = all.filter(consent => consent.status === 'PENDENTE')
  const active = all.find(consent => consent.status === 'ATIVO')
  if (!first || !other || !active) throw new Error('The simulated service has not the expected consents')
  const detail = await averba.consents.get({ subject, id: first.id })
  say(
    `One consent was read in full: "${detail?.finalidade?.rotulo}", with ${detail?.historico.length} entry in its history.`,
  )

  const evidence = {
    actor: { kind: 'subject', ref: subject },
    correlationId: 'tela-de-consentimento',
  } as const
  const approved = valueOf(await averba.consents.approve({ subject, id: first.id }, evidence))
  const denied = valueOf(await averba.consents.deny({ subject, id: other.id }, evidence))
  const revoked = valueOf(await averba.consents.revoke({ subject, id: active.id }, evidence))
  say(`One was approved (${approved.status}), one denied (${denied.status}), one revoked (${revoked.status}).`)
  try {
    await averba.consents.approve({ subject, id: other.id })
    throw new Error('A denied consent was approved')
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    say(`One approval was refused by averba, and no request was sent: ${error.message}.`)
  }
  return subject
}

async function walkReadings(averba: Averba, subject: SubjectRef, say: (line: string) => void): Promise<void> {
  const records = await averba.awareness.list({ subject })
  const detail = records[0] && (await averba.awareness.get({ subject, id: records[0].id }))
  const basis = detail?.hipoteses?.[0]?.hipoteseTratamento.nome
  say(`One awareness record was listed and read in full: "${basis}".`)
  const { autenticado } = await averba.logins.state({ subject })
  const address = await averba.logins.url({ subject }, { redirectUrl: 'https://app.exemplo.br/volta' })
  say(
    `The login state was read (${autenticado ? 'logged in' : 'logged out'}), and a login address obtained, at ${address.host}.`,
  )
}

async function walkValidations(
  averba: Averba,
  services: RunningServices,
  clock: VirtualClock,
  say: (line: string) => void,
): Promise<void> {
  const { cpf } = services.samples
  const claims = { nome: 'Maria de Exemplo Sousa', sexo: 'F', situacao_cpf: 'regular' }
  const first = valueOf(await averba.validations.validate({ id: 'pedido-1', cpf, claims }))
  const { nome, sexo } = first.fields
  say(
    `A token was obtained and a person validated: name a ${nome?.result} (similarity ${nome?.similarity}), sex a ${sexo?.result}.`,
  )
  await clock.advance(hourMs)
  valueOf(await averba.validations.validate({ id: 'pedido-2', cpf, claims }))
  const { refused, answered } = services.validationService
  say(`An hour later ${refused} call was answered 401, and the token was renewed once: ${answered} validations in all.`)
  const again = await averba.validations.validate({ id: 'pedido-2', cpf, claims })
  say(`Repeating the id gave ${again.replayed ? 'the recorded result, and no request was sent' : 'a second call'}.`)
}

async function walkSubscriptions(
  averba: Averba,
  services: RunningServices,
  clock: VirtualClock,
  say: (line: string) => void,
): Promise<void> {
  const plan = await averba.subscriptions.plan()
  const outcomes = await averba.subscriptions.apply(plan)
  say(`The portal was subscribed to ${outcomes.map(outcome => valueOf(outcome).evento).join(' and ')}.`)

  const { portal, samples, receiver } = services
  const server = await startHttpsServer(averba, receiver)
  services.connect(host, portOf(server))
  const company = { destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  const situation = {
    identificacao: { numero: '26BR0000000001', versao: '1' },
    situacaoDuimp: 'REGISTRADA_AGUARDANDO_CANAL',
  }
  await portal.notify({ evento: eventos.duimp, ...company, body: situation })
  await portal.notify({
    evento: eventos.lpco,
    ...company,
    body: { numeroLPCO: 'I2600000001', novaSituacao: { id: 2 } },
  })
  await portal.notify({
    evento: eventos.lpco,
    destinatarioTipo: 'CPF',
    destinatarioId: samples.cpf,
    body: { numeroLPCO: 'I2600000002' },
  })
  say(`${portal.deliveries.succeeded} notifications arrived, each stored before it was acknowledged.`)

  await closeServer(server)
  await clock.advance(dayMs)
  await portal.notify({ evento: eventos.lpco, ...company, body: { numeroLPCO: 'I2600000003' } })
  const failures = await averba.subscriptions.failures()
  say(
    `One delivery failed while the receiver was down, and its content was read from the portal: ${failures[0]?.conteudo}`,
  )

  await clock.advance(30 * dayMs)
  await averba.subscriptions.plan()
  const deleted = (await averba.subscriptions.list({ inactive: true })).find(each => each.deletedBy === 'portal')
  say(`Thirty days later the portal had deleted ${deleted?.evento}: "${deleted?.motivoExclusao}"`)
}

async function summarize(
  averba: Averba,
  services: RunningServices,
  store: string,
  say: (line: string) => void,
): Promise<Omit<DemoResult, 'pages'>> {
  const rebuilt = await averba.rebuild()
  const areEqual = rebuilt.every(view => view.differences === 0)
  say(`All ${rebuilt.length} views were rebuilt from the log, and are ${areEqual ? 'equal' : 'NOT equal'}.`)
  say('')
  say('The events of the log (times in UTC, of the virtual clock):')
  let events = 0
  for await (const event of averba.log.read()) {
    events = event.position
    const line = formatTimelineLine(event)
    if (line) say(`  ${line}`)
  }
  const inactive = await averba.subscriptions.list({ inactive: true })
  const rows = (view: string) => rebuilt.find(each => each.view === view)?.rows ?? 0
  const pending = await averba.effects.list()
  return {
    events,
    views: areEqual ? 'equal' : 'different',
    tokenRequests: services.tokenService.requests,
    validations: services.validationService.answered,
    deliveries: services.portal.deliveries.succeeded + services.portal.deliveries.failed,
    failures: rows('failures'),
    notifications: rows('notifications'),
    deletedByPortal: inactive.filter(each => each.deletedBy === 'portal').length,
    pending: pending.filter(effect => effect.state !== 'settled' && effect.state !== 'declined').length,
    store,
  }
}

/** Writes the pages beside the log, readable only for its owner. */
async function writePages(
  averba: Averba,
  subject: SubjectRef,
  clock: VirtualClock,
  store: string,
  say: (line: string) => void,
): Promise<string[]> {
  const at = new Date(clock.now()).toISOString()
  const [revoked] = await averba.consents.list({ subject, status: 'REVOGADO' })
  const consent = { subject, id: revoked?.id ?? '' }
  const pages = {
    titular: await averba.subjects.report({ subject }, { format: 'html' }),
    consentimento: await averba.audit.prove({ consent, at }, { format: 'html' }),
  }
  say('')
  return Object.entries(pages).map(([name, text]) => {
    const file = join(dirname(store), `${name}.html`)
    writeFileSync(file, text, { mode: 0o600 })
    say(`Wrote a page: ${file}`)
    return file
  })
}

/** Serves the receiver as a host would: with the HTTPS server of Node around the listener. */
async function startHttpsServer(averba: Averba, { cert, key }: { cert: string; key: string }): Promise<Server> {
  const server = createServer({ cert, key, minVersion: 'TLSv1.2' }, averba.receiver.listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return server
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port // It listens on a port, not on a pipe.
}

import { existsSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import {
  type Averba,
  AverbaError,
  openAverba,
  type SubjectRef,
  serveReceivers,
  systemClock,
  valueOf,
} from '../../index.ts'
import type { RunningServices, VirtualClock } from '../../simulation/index.ts'
import { dayMs, hourMs, toInstant } from '../../vocabulary/instant.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { formatLogLine } from '../load-config.ts'
import { printLine } from '../output.ts'
import type { Terminal } from '../terminal.ts'

const host = 'receptor.exemplo.br'
const secondCpf = '52998224725'
const eventos = { duimp: 'dimp-situacao-import', lpco: 'talp-altsit-lpco-anu' } as const

export const demoCommand = defineCommand({
  usage: 'demo',
  description: 'Demonstrate every lifecycle against simulated services over real TLS, on a SQLite file.',
  options: {
    '--json': 'print one JSON object on the last line',
    '--dir <folder>': 'the folder for the log; by default a new temporary folder',
  },
  example: 'averba demo --dir demo',
  async run(terminal, { dir }) {
    const started = performance.now()
    const result = await runDemo(terminal, dir)
    const seconds = ((performance.now() - started) / 1_000).toFixed(1)
    const code = result.views === 'equal' ? exitCodes.done : exitCodes.bug
    return { result, lines: formatDemo(terminal.say, result, seconds), code }
  },
})

interface Demo {
  readonly averba: Averba
  readonly services: RunningServices
  readonly clock: VirtualClock
  readonly store: string
  readonly say: Say
  readonly tell: (line: string) => void
}

function* formatDemo(say: Say, result: Awaited<ReturnType<typeof runDemo>>, seconds: string): Iterable<string> {
  yield ''
  yield* say`${result.events} events, ${result.notifications} notifications, ${result.tokenRequests} token requests,
${result.deliveries} deliveries of which ${result.failures} failed, ${result.deletedByPortal} subscription
deleted by the portal, ${result.pending} calls pending; views ${say.text(result.views)}; ${seconds} s.`.split('\n')
  yield say`The log is at ${result.store}`
}

/** Demonstrates every lifecycle against the simulated services over real TLS, with a log in `dir` or a new folder. */
async function runDemo(terminal: Terminal, dir?: string) {
  const { say } = terminal
  const tell = (line: string) => printLine(terminal, line)
  const store = createStorePath(dir)
  // Loaded here, since it is slow to load and few commands need it.
  const { startServices, VirtualClock } = await import('../../simulation/index.ts')
  // It ends before now, so that a look at the log by the real clock finds nothing wrong with its times.
  const clock = new VirtualClock(toInstant(systemClock.now() - 40 * dayMs))
  const services = await startServices({ clock })
  tell(say`The consent service (mutual TLS), the token gateway, the validation service and the portal are running.`)
  tell(say`They use a virtual clock: this demonstration advances it by hours and days.`)
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
    logger: line => tell(`averba: ${formatLogLine(say, line)}`),
  })
  try {
    const demo: Demo = { averba, services, clock, store, say, tell }
    const subject = await walkConsents(demo)
    await walkReadings(demo, subject)
    await walkValidations(demo)
    await walkSubscriptions(demo)
    const result = await summarize(demo)
    return { ...result, pages: await writePages(demo, subject) }
  } finally {
    await averba.close()
    await services.close()
  }
}

/** Returns the path of a new log: an existing log would refer to other services. */
function createStorePath(dir = mkdtempSync(join(tmpdir(), 'averba-demo-'))): string {
  const store = join(resolve(dir), 'averba.sqlite')
  try {
    if (!existsSync(dir)) mkdirSync(dir)
  } catch (cause) {
    throw new AverbaError('STORE_UNSAFE', `Cannot make the folder "${dir}"`, { cause })
  }
  if (!existsSync(store)) return store
  const hint = 'Name another folder'
  throw new AverbaError('INVALID_INPUT', `Cannot create the log "${store}": it exists already`, { hint })
}

async function walkConsents({ averba, services, say, tell }: Demo): Promise<SubjectRef> {
  const { cpf, cnpj } = services.samples
  services.consentService.addConsent({ cpf: secondCpf, cnpj })
  const subject = await averba.consents.enrol({ cpf })
  const second = await averba.consents.enrol({ cpf: secondCpf })
  const one = valueOf(await averba.consents.sync({ subject }))
  const two = valueOf(await averba.consents.sync({ subject: second }))
  tell(say`Two data subjects were enrolled, and their ${one.read + two.read} consents were read.`)

  const [first, other] = await averba.consents.list({ subject, status: 'PENDENTE' })
  const [active] = await averba.consents.list({ subject, status: 'ATIVO' })
  if (!first || !other || !active) throw new Error('The simulated service has not the expected consents')
  const detail = await averba.consents.get({ subject, id: first.id })
  const entries = say.count(detail?.historico.length ?? 0, 'entry')
  tell(say`One consent was read in full: "${detail?.finalidade?.rotulo}", with ${entries} in its history.`)

  const evidence = { actor: { kind: 'subject', ref: subject }, correlationId: 'tela-de-consentimento' } as const
  const approved = valueOf(await averba.consents.approve({ subject, id: first.id }, evidence))
  const denied = valueOf(await averba.consents.deny({ subject, id: other.id }, evidence))
  const revoked = valueOf(await averba.consents.revoke({ subject, id: active.id }, evidence))
  tell(say`One was approved (${approved.status}), one denied (${denied.status}), one revoked (${revoked.status}).`)
  try {
    await averba.consents.approve({ subject, id: other.id })
    throw new Error('A denied consent was approved')
  } catch (error) {
    if (!(error instanceof AverbaError)) throw error
    tell(say`One approval was refused by averba, and no request was sent: ${say.message(error.message)}.`)
  }
  return subject
}

async function walkReadings({ averba, say, tell }: Demo, subject: SubjectRef): Promise<void> {
  const records = await averba.awareness.list({ subject })
  const detail = records[0] && (await averba.awareness.get({ subject, id: records[0].id }))
  const basis = detail?.hipoteses?.[0]?.hipoteseTratamento.nome
  tell(say`One awareness record was listed and read in full: "${basis}".`)
  await averba.logins.state({ subject })
  const address = await averba.logins.url({ subject }, { redirectUrl: 'https://app.exemplo.br/volta' })
  tell(say`The login state was read, and a login address obtained, at ${address.host}.`)
}

async function walkValidations({ averba, services, clock, say, tell }: Demo): Promise<void> {
  const { cpf } = services.samples
  const claims = { nome: 'Maria de Exemplo Sousa', sexo: 'F', situacao_cpf: 'regular' }
  const first = valueOf(await averba.validations.validate({ id: 'pedido-1', cpf, claims }))
  const { nome, sexo } = first.fields
  const name = `${nome?.result} (similarity ${nome?.similarity})`
  tell(say`A token was obtained and a person validated: name a ${name}, sex a ${sexo?.result}.`)
  await clock.advance(hourMs)
  valueOf(await averba.validations.validate({ id: 'pedido-2', cpf, claims }))
  const { refused, answered } = services.validationService
  tell(
    say`An hour later ${refused} call was answered 401, and the token was renewed once: ${answered} validations in all.`,
  )
  const again = await averba.validations.validate({ id: 'pedido-2', cpf, claims })
  if (again.replayed) tell(say`Repeating the id gave the recorded result, and no request was sent.`)
}

async function walkSubscriptions({ averba, services, clock, say, tell }: Demo): Promise<void> {
  const plan = await averba.subscriptions.plan()
  const outcomes = await averba.subscriptions.apply(plan)
  tell(say`The portal was subscribed to ${outcomes.map(outcome => valueOf(outcome).evento).join(', ')}.`)

  const { portal, samples, receiver } = services
  const receivers = { '/averba': averba.receiver }
  const server = await serveReceivers({ receivers, certificate: receiver, host: '127.0.0.1', port: 0 })
  services.connect(host, server.port)
  const company = { destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
  const person = { destinatarioTipo: 'CPF', destinatarioId: samples.cpf } as const
  const identificacao = { numero: '26BR0000000001', versao: '1' }
  const situation = { identificacao, situacaoDuimp: 'REGISTRADA_AGUARDANDO_CANAL' }
  const change = { numeroLPCO: 'I2600000001', novaSituacao: { id: 2 } }
  await portal.notify({ evento: eventos.duimp, ...company, body: situation })
  await portal.notify({ evento: eventos.lpco, ...company, body: change })
  await portal.notify({ evento: eventos.lpco, ...person, body: { numeroLPCO: 'I2600000002' } })
  tell(say`${portal.deliveries.succeeded} notifications arrived, each stored before it was acknowledged.`)

  await server.close()
  await clock.advance(dayMs)
  await portal.notify({ evento: eventos.lpco, ...company, body: { numeroLPCO: 'I2600000003' } })
  const failures = await averba.subscriptions.failures()
  const content = failures[0]?.conteudo
  tell(say`One delivery failed while the receiver was down, and its content was read from the portal: ${content}`)

  await clock.advance(30 * dayMs)
  await averba.subscriptions.plan()
  const deleted = (await averba.subscriptions.list({ inactive: true })).find(each => each.deletedBy === 'portal')
  tell(say`Thirty days later the portal had deleted ${deleted?.evento}: "${deleted?.motivoExclusao}"`)
}

async function summarize({ averba, services, store, say, tell }: Demo) {
  const rebuilt = await averba.rebuild()
  const areEqual = rebuilt.every(view => view.differences === 0)
  tell(say`All ${rebuilt.length} views were rebuilt from the log, and are ${areEqual ? say`equal` : say`NOT equal`}.`)
  tell('')
  tell(say`The events of the log (times in UTC, of the virtual clock):`)
  let events = 0
  for await (const { position, at, type } of averba.log.read()) {
    events = position
    tell(`  ${String(position).padStart(4)}  ${at.slice(0, 16).replace('T', ' ')}  ${type}`)
  }
  const inactive = await averba.subscriptions.list({ inactive: true })
  const rows = (view: string) => rebuilt.find(each => each.view === view)?.rows ?? 0
  const ended = ['settled', 'declined']
  const { tokenService, validationService, portal } = services
  return {
    events,
    views: areEqual ? 'equal' : 'different',
    tokenRequests: tokenService.requests,
    validations: validationService.answered,
    deliveries: portal.deliveries.succeeded + portal.deliveries.failed,
    failures: rows('failures'),
    notifications: rows('notifications'),
    deletedByPortal: inactive.filter(each => each.deletedBy === 'portal').length,
    pending: (await averba.effects.list()).filter(effect => !ended.includes(effect.state)).length,
    store,
  }
}

/** Writes the report of a person and of one of their consents beside the log, readable only for its owner. */
async function writePages({ averba, clock, store, say, tell }: Demo, subject: SubjectRef): Promise<string[]> {
  const at = new Date(clock.now()).toISOString()
  const [revoked] = await averba.consents.list({ subject, status: 'REVOGADO' })
  const consent = { subject, id: revoked?.id ?? '' }
  const pages = {
    titular: await averba.subjects.report({ subject }, { format: 'html' }),
    consentimento: await averba.audit.prove({ consent, at }, { format: 'html' }),
  }
  tell('')
  return Object.entries(pages).map(([name, text]) => {
    const file = join(dirname(store), `${name}.html`)
    writeFileSync(file, text, { mode: 0o600 })
    tell(say`Wrote a page: ${file}`)
    return file
  })
}

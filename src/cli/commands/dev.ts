import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { AverbaError, openAverba, serveReceivers, valueOf } from '../../index.ts'
import type { RunningServices } from '../../simulation/index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { parseJson } from '../options.ts'
import { printResult } from '../output.ts'
import { isControlRunning } from '../running-control.ts'
import { type Terminal, waitForStop } from '../terminal.ts'

const devFolder = '.averba'
/** The file that exists while `averba dev` runs in a folder. */
const devStateFile = join(devFolder, 'dev.json')

/** What `averba dev` tells `averba trigger`: the address of its control server, and whom to notify. */
type DevState = Readonly<Record<'control' | 'cnpj', string>>

const host = 'receptor.exemplo.br'

export const devCommand = defineCommand({
  usage: 'dev',
  description: 'Let the simulated portal notify a receiver on this machine, without root and without port 443.',
  options: {
    '--evento <evento...>': { text: 'the events to subscribe to', fallback: ['dimp-situacao-import'] },
    '--to <host:port>': 'your receiver; by default a receiver of averba',
    '--path <path>': { text: "the path of your receiver's address", fallback: '/averba' },
    '--secret <text>': 'a made-up chaveSecreta for the subscription of your receiver',
    '--json': 'print one JSON object on each line',
  },
  example: 'averba dev --to localhost:8443 --path /averba --evento dimp-situacao-import',
  async run(terminal, { evento, to, path, secret, json }) {
    const stopped = waitForStop(terminal)
    const { say } = terminal
    await checkNotRunning()
    // Loaded here, since it is slow to load and few commands need it.
    const { ShiftedClock, startControl, startServices } = await import('../../simulation/index.ts')
    const clock = new ShiftedClock()
    const services = await startServices({ clock })
    const control = await startControl(services, clock)
    const endpoint = `https://${host}${path}`
    const wanted = { endpoint, ...(secret !== undefined && { chaveSecreta: secret }) }
    const close = await (to === undefined
      ? startReceiver(services, evento, endpoint, terminal)
      : subscribe(services, to, evento, wanted))
    const [certificate, key] = [join(devFolder, 'receiver.pem'), join(devFolder, 'receiver.key')]
    mkdirSync(devFolder, { recursive: true })
    writeFileSync(certificate, services.receiver.cert)
    writeFileSync(key, services.receiver.key, { mode: 0o600 })
    const state = { control: control.baseUrl, cnpj: services.samples.cnpj } satisfies DevState
    writeFileSync(devStateFile, JSON.stringify(state))
    const receiver = to ?? say`a receiver of averba`
    printResult(terminal, json, { ...state, evento, certificate, key }, [
      say`The simulated portal notifies ${receiver} of ${evento.join(', ')}.`,
      ...(to ? [say`Your receiver serves TLS with ${certificate} and ${key}: both are new at each start.`] : []),
      say`Send a notification from another terminal, in this folder: averba trigger ${evento[0]}`,
    ])
    await stopped
    rmSync(devStateFile, { force: true })
    await close()
    await control.close()
    await services.close()
    return exitCodes.done
  },
})

/** Two in one folder would share the certificate and the state file. */
async function checkNotRunning(): Promise<void> {
  let control: string
  try {
    control = readDevState().control
  } catch {
    return // A killed process leaves its state file, or half of it.
  }
  if (!(await isControlRunning(control))) return
  const hint = 'Stop it, or use another folder'
  throw new AverbaError('REFUSED', 'Cannot start averba dev: it runs in this folder already', { hint })
}

const portMax = 65_535

async function subscribe(
  services: RunningServices,
  to: string,
  eventos: readonly string[],
  wanted: { readonly endpoint: string; readonly chaveSecreta?: string },
): Promise<() => Promise<void>> {
  const [, name, port] = /^(localhost|127\.\d+\.\d+\.\d+):(\d{1,5})$/.exec(to) ?? []
  if (!(Number(port) > 0 && Number(port) <= portMax)) {
    const hint = 'Give an address such as --to localhost:8443'
    const cannot = `Cannot notify "${to}": it is not an address and port of this machine`
    throw new AverbaError('INVALID_INPUT', cannot, { hint })
  }
  services.connect(host, Number(port), name)
  for (const evento of eventos) {
    const request = new Request(`${services.options.portal.baseUrl}/portal/api/ext/webhook`, {
      method: 'POST',
      headers: { ...services.portalHeaders, 'content-type': 'application/json' },
      body: JSON.stringify({ evento, ...wanted }),
    })
    const { status } = await services.reach.portal(request)
    if (status !== 200)
      throw new AverbaError('INVALID_INPUT', `Cannot subscribe to "${evento.slice(0, 40)}": ${status}`)
  }
  return async () => undefined
}

async function startReceiver(
  services: RunningServices,
  eventos: readonly string[],
  publicUrl: string,
  terminal: Terminal,
): Promise<() => Promise<void>> {
  const { say, isJson } = terminal
  const averba = await openAverba({
    store: ':memory:',
    portal: services.options.portal,
    receiver: { publicUrl, sources: ['127.0.0.0/8'] },
    subscriptions: eventos.map(evento => ({ evento })),
  })
  for (const made of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(made)
  const print = (result: object, line: string) => printResult(terminal, isJson, result, [line])
  averba.on('notification.received', ({ data: { evento, bodyBytes } }) =>
    print({ received: evento, bodyBytes }, say`received ${evento}: ${bodyBytes} bytes, stored`),
  )
  averba.on('notification.copied', () => print({ copied: true }, say`received a copy of it`))
  const receivers = { [new URL(publicUrl).pathname]: averba.receiver }
  const server = await serveReceivers({ receivers, certificate: services.receiver, host: '127.0.0.1', port: 0 })
  services.connect(host, server.port)
  return async () => {
    await server.close()
    await averba.close()
  }
}

export const triggerCommand = defineCommand({
  usage: 'trigger <evento>',
  description: 'Let the portal of averba dev send one notification.',
  options: { '--body <json>': { text: 'its body', fallback: '{"numero":"26BR0000000001"}' } },
  example: 'averba trigger dimp-situacao-import',
  async run({ say }, { body }, evento) {
    const deliveries = await sendNotification(evento, body)
    const lines = deliveries.flatMap(({ isDelivered, description }) => {
      const advice = advices[description]
      const line = isDelivered ? say`delivered` : say`not delivered: ${description}`
      return advice === undefined ? [line] : [line, say.text(advice)]
    })
    const code = deliveries.every(each => each.isDelivered) ? exitCodes.done : exitCodes.error
    if (deliveries.length > 0) return { result: { deliveries }, lines, code }
    const name = evento.slice(0, 40)
    const hint = `Start averba dev with --evento ${name}`
    throw new AverbaError('NOT_FOUND', `Cannot trigger "${name}": it has no subscription`, { hint })
  },
})

export const advices: Readonly<Record<string, string>> = {
  'HTTP 401': 'The receiver expects a secret: give averba dev the chaveSecreta of the subscription with --secret',
  'Falha de entrega: a conexão foi recusada (ECONNREFUSED)':
    'Nothing listens there: start your receiver at the address that averba dev got as --to',
  'HTTP 403': "The receiver refuses this machine: configure it with receiver: { sources: ['127.0.0.0/8'] }",
}

async function sendNotification(
  evento: string,
  text: string,
): Promise<{ isDelivered: boolean; description: string }[]> {
  const { control, cnpj } = readDevState()
  const hint = `Quote it for the shell: --body '{"numero":"26BR1"}'`
  const body: unknown = parseJson(text, 'Cannot trigger the event: the body is not JSON', hint)
  const notice = JSON.stringify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: cnpj, body })
  const response = await fetch(`${control}/notifications`, { method: 'POST', body: notice }).catch(rejectNotRunning)
  if (response.ok) return (await response.json()).deliveries
  throw new AverbaError('INVALID_INPUT', 'Cannot trigger the event: the simulated portal refuses it', {
    hint: 'Name an event of 1 to 40 characters, as in averba trigger dimp-situacao-import',
  })
}

/** Reads what a running `averba dev` wrote. Throws `NOT_FOUND` when none runs in this folder. */
function readDevState(): DevState {
  try {
    return JSON.parse(readFileSync(devStateFile, 'utf8'))
  } catch (cause) {
    return rejectNotRunning(cause)
  }
}

function rejectNotRunning(cause: unknown): never {
  const hint = 'Start it in another terminal: averba dev'
  const message = 'Cannot trigger the event: averba dev does not run in this folder'
  throw new AverbaError('NOT_FOUND', message, { cause, hint })
}

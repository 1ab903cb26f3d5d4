import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { AverbaError, openAverba, valueOf } from '../../index.ts'
import { type RunningServices, ShiftedClock, startControl, startServices } from '../../simulation/index.ts'
import { closeServer } from '../close-server.ts'
import { waitForStop } from '../stop-signals.ts'

/** The options of `averba dev`. */
export interface DevOptions {
  readonly evento: readonly string[]
  /** The receiver's `host:port` on this machine; when absent, averba starts a receiver. */
  readonly to?: string
  /** The path of the receiver's address. */
  readonly path: string
  /** The `chaveSecreta` of the subscription of the given receiver; without one when absent. */
  readonly secret?: string
}

const folder = '.averba'
const stateFile = join(folder, 'dev.json')
const host = 'receptor.exemplo.br'
/** How long an already running `averba dev` has to answer. */
const answerMs = 1_000

/** Runs the simulated portal with subscriptions of a local receiver, until stopped. */
export async function runDev(options: DevOptions, say: (line: string) => void): Promise<void> {
  const { evento, to, path, secret } = options
  await checkNotRunning()
  const clock = new ShiftedClock()
  const services = await startServices({ clock })
  const control = await startControl(services, clock)
  const stopped = waitForStop()
  const endpoint = `https://${host}${path}`
  const own = to === undefined ? await startReceiver(services, evento, endpoint, say) : undefined
  if (to !== undefined)
    await subscribe(services, to, evento, { endpoint, ...(secret !== undefined && { chaveSecreta: secret }) })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'receiver.pem'), services.receiver.cert)
  writeFileSync(join(folder, 'receiver.key'), services.receiver.key, { mode: 0o600 })
  writeFileSync(stateFile, JSON.stringify({ control: control.baseUrl, cnpj: services.samples.cnpj }))
  say(`The simulated portal notifies ${to ?? 'a receiver of averba'} of ${evento.join(', ')}.`)
  if (to !== undefined)
    say(`Your receiver serves TLS with ${join(folder, 'receiver.pem')} and ${join(folder, 'receiver.key')}.`)
  say(`Send a notification from another terminal, in this folder: averba trigger ${evento[0]}`)
  await stopped
  rmSync(stateFile, { force: true })
  await own?.close()
  await control.close()
  await services.close()
}

/** Two in one folder would share the certificate and the state file. */
async function checkNotRunning(): Promise<void> {
  // A killed process leaves its state file, or half of it, but does not answer.
  const request = async () => fetch(`${readState().control}/requests`, { signal: AbortSignal.timeout(answerMs) })
  const isRunning = await request().then(
    ({ ok }) => ok,
    () => false,
  )
  if (!isRunning) return
  throw new AverbaError('REFUSED', 'Cannot start averba dev: it runs in this folder already', {
    hint: 'Stop it, or use another folder',
  })
}

async function subscribe(
  services: RunningServices,
  to: string,
  eventos: readonly string[],
  wanted: { readonly endpoint: string; readonly chaveSecreta?: string },
): Promise<void> {
  const address = /^(localhost|127\.\d+\.\d+\.\d+):(\d{1,5})$/.exec(to)
  if (!address) {
    throw new AverbaError('INVALID_INPUT', `Cannot notify "${to}": it is not an address of this machine`, {
      hint: 'Give an address such as --to localhost:8443',
    })
  }
  services.connect(host, Number(address[2]), address[1])
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
}

async function startReceiver(
  services: RunningServices,
  eventos: readonly string[],
  publicUrl: string,
  say: (line: string) => void,
): Promise<{ close(): Promise<void> }> {
  const averba = await openAverba({
    store: ':memory:',
    portal: services.options.portal,
    receiver: { publicUrl, sources: ['127.0.0.0/8'] },
    subscriptions: eventos.map(evento => ({ evento })),
  })
  for (const made of await averba.subscriptions.apply(await averba.subscriptions.plan())) valueOf(made)
  averba.on('notification.received', ({ data }) => say(`received ${data.evento}: ${data.bodyBytes} bytes, stored`))
  averba.on('notification.copied', () => say('received a copy of it'))
  const server = createServer({ ...services.receiver, minVersion: 'TLSv1.2' }, averba.receiver.listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  services.connect(host, (server.address() as AddressInfo).port) // It listens on a port, not on a pipe.
  return {
    async close() {
      await closeServer(server)
      await averba.close()
    },
  }
}

/** Returns advice for a delivery that a receiver of averba refused. */
export function adviceFor({ description }: TriggeredDelivery): string | undefined {
  if (description === 'HTTP 401')
    return 'The receiver expects a secret: give averba dev the chaveSecreta of the subscription with --secret'
  if (description === 'HTTP 403')
    return "The receiver refuses this machine: configure it with receiver: { sources: ['127.0.0.0/8'] }"
  return undefined
}

/** The result of one delivery. */
export interface TriggeredDelivery {
  readonly subscription: number
  readonly isDelivered: boolean
  readonly description: string
}

/** Makes the portal of `averba dev` send one notification. */
export async function trigger(evento: string, body: string): Promise<TriggeredDelivery[]> {
  const { control, cnpj } = readState()
  const notice = { evento, destinatarioTipo: 'CNPJ', destinatarioId: cnpj, body: parseBody(body) }
  const response = await fetch(`${control}/notifications`, {
    method: 'POST',
    body: JSON.stringify(notice),
  }).catch(cause => {
    throw notRunning(cause)
  })
  if (!response.ok) {
    const hint = 'Name an event of 1 to 40 characters, as in averba trigger dimp-situacao-import'
    throw new AverbaError('INVALID_INPUT', 'Cannot trigger the event: the simulated portal refuses it', {
      hint,
    })
  }
  const { deliveries } = (await response.json()) as { deliveries: TriggeredDelivery[] } // Our own control server.
  return deliveries
}

function readState(): { control: string; cnpj: string } {
  try {
    return JSON.parse(readFileSync(stateFile, 'utf8'))
  } catch (cause) {
    throw notRunning(cause)
  }
}

function notRunning(cause: unknown): AverbaError {
  return new AverbaError('NOT_FOUND', 'Cannot trigger the event: averba dev does not run in this folder', {
    cause,
    hint: 'Start it in another terminal: averba dev',
  })
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new AverbaError('INVALID_INPUT', 'Cannot trigger the event: the body is not JSON', {
      cause,
      hint: `Quote it for the shell: --body '{"numero":"26BR1"}'`,
    })
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { openAverba } from '../src/index.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { seededEntropy } from '../src/simulation/index.ts'
import { createSimulators } from '../src/simulation/services/create-simulators.ts'
import { views } from '../src/views/views.ts'
import { fleetOptions } from '../test/fleet/fleet-options.ts'
import { cpfOf } from '../test/support/cpf-of.ts'
import { withSchema } from '../test/support/postgres-server.ts'
import { countTokens, measureTakeover } from './fleet-recovery.ts'
import { readHeaderText } from './header-text.ts'
import { type Figures, interleave, medianOf, rateOf, ratioOf, type Say } from './measure.ts'
import { openDbos, openEmmettOnPostgres } from './peers.ts'
import { openStoreOn, openWay, startServer } from './postgres.ts'
import { RawPostgres } from './raw-postgres.ts'
import { appendOne, Callers, consentEvent, createId } from './workload.ts'

const callers = 64
const farMs = 2
const [manyEvents, fewEvents, peerEvents, flowsCount] = [6_400, 2_560, 640, 1_280]

/** Appends of 64 callers against raw inserts of 64 rows, near and 2 ms away, and against Emmett. */
export async function benchFleetAppends(folder: string, say: Say): Promise<Figures> {
  const server = await startServer()
  say(`fleet: one server, fsync, full_page_writes and synchronous_commit on; ${callers} callers, exact expectations`)
  const measure = async (url: string, schema: string, count: number) => {
    const store = await openStoreOn(url, schema, folder, [])
    const many = new Callers(store, callers)
    await many.append(fewEvents)
    const raw = await RawPostgres.open(url, `${schema}_raw`, await readHeaderText(store))
    const rates = await interleave(
      { raw: () => rateOf(count, () => raw.insert(count)), averba: () => rateOf(count, () => many.append(count)) },
      say,
    )
    await raw.close()
    await store.close()
    return rates
  }
  const near = await measure(server.url, 'near', manyEvents)
  const way = await openWay(server.folder, farMs)
  const far = await measure(way.url, 'far', fewEvents)
  await way.close()
  const store = await openStoreOn(server.url, 'peer', folder, [])
  const many = new Callers(store, callers)
  const peer = await openEmmettOnPostgres(server.url, say)
  const { data } = consentEvent(`consent-${createId()}`, 2).event
  const append = () => peer.appendAll(peerEvents, callers, () => `consent-${createId()}`, data as object) // It is one.
  const { emmett, averba } = await interleave(
    { emmett: () => rateOf(peerEvents, append), averba: () => rateOf(manyEvents, () => many.append(manyEvents)) },
    say,
  )
  await peer.close()
  await store.close()
  await server.close()
  return {
    rawGroupPerSecond64: Math.round(medianOf(near.raw)),
    groupPerSecond64: Math.round(medianOf(near.averba)),
    appendGroup64: ratioOf(near.averba, near.raw),
    appendGroup64Far: ratioOf(far.averba, far.raw),
    emmettPgPerSecond64: Math.round(medianOf(emmett)),
    vsEmmettPg64: ratioOf(averba, emmett),
  }
}

/** How often a client waits for the server, for a commit and for a whole flow. */
export async function benchFleetRoundTrips(folder: string, say: Say): Promise<Figures> {
  const server = await startServer()
  const way = await openWay(server.folder)
  const commits = 200
  const measure = async (what: string, count: number, work: () => Promise<void>) => {
    const before = way.roundTrips
    await work()
    const each = Number(((way.roundTrips - before) / count).toFixed(3))
    say(`  ${what}: ${each} round trips each, of ${count}`)
    return each
  }
  const [one, other] = [
    await openStoreOn(way.url, 'trips', folder, views),
    await openStoreOn(way.url, 'trips', folder, views),
  ]
  const streams = [one, other].map(store => ({ store, name: `consent-${createId()}`, version: 0 }))
  const append = async (who: number) => {
    const stream = streams[who]
    if (!stream) return
    stream.version += 1
    await stream.store.append(appendOne(stream.name, stream.version))
  }
  for (let n = 0; n < 3; n++) await append(0)
  const roundTripsAlone = await measure('commits of one writer', commits, async () => {
    for (let n = 0; n < commits; n++) await append(0)
  })
  for (let n = 0; n < 6; n++) await append(n % 2)
  const roundTripsContended = await measure('commits of two writers in turn', commits, async () => {
    for (let n = 0; n < commits; n++) await append(n % 2)
  })
  await one.close()
  await other.close()
  const flows = await openFlows(withSchema(way.url, 'flows'), join(folder, 'flows.keys'))
  await flows.runAll(callers, callers)
  const roundTripsPerFlow64 = await measure('whole flows, 64 in flight', flowsCount, () =>
    flows.runAll(flowsCount, callers),
  )
  await flows.close()
  await way.close()
  await server.close()
  return { roundTripsAlone, roundTripsContended, roundTripsPerFlow64 }
}

/** Whole flows, each a command with its call and outcome, against workflows of one step. */
export async function benchFleetFlows(folder: string, say: Say): Promise<Figures> {
  const server = await startServer()
  const flows = await openFlows(withSchema(server.url, 'flows'), join(folder, 'flows.keys'))
  const dbos = await openDbos(server.url, say)
  const rates = await interleave(
    {
      dbos: () => rateOf(peerEvents, () => dbos.runAll(peerEvents, callers)),
      averba: () => rateOf(flowsCount, () => flows.runAll(flowsCount, callers)),
    },
    say,
  )
  await dbos.close()
  await flows.close()
  await server.close()
  return {
    dbosPerSecond64: Math.round(medianOf(rates.dbos)),
    flowsPerSecond64: Math.round(medianOf(rates.averba)),
    vsDbos64: ratioOf(rates.averba, rates.dbos),
  }
}

/** An engine that validates people at services in the same process. */
async function openFlows(store: string, keyring: string) {
  const deliver = async () => new Response()
  const services = createSimulators({ clock: systemClock, entropy: seededEntropy(1), deliver })
  const averba = await openAverba(
    fleetOptions(store, keyring, request =>
      new URL(request.url).host === 'gateway.exemplo.br'
        ? services.reach.tokenService(request)
        : services.reach.validationService(request),
    ),
  )
  let begun = 0
  return {
    async runAll(count: number, atOnce: number): Promise<void> {
      const end = begun + count
      const run = async () => {
        while (begun < end) {
          begun += 1
          const id = `flow-${begun}`
          const { status } = await averba.validations.validate({ id, cpf: cpfOf(begun), claims: { nome: 'Maria' } })
          if (status !== 'settled' && status !== 'declined') throw new TypeError(`${id} is ${status}`)
        }
      }
      await Promise.all(Array.from({ length: atOnce }, run))
    },
    close: () => averba.close(),
  }
}

const rounds = 5
const roundMs = 2_000

/** What four processes append together, and what a process that dies or stands still costs the others. */
export async function benchFleetProcesses(folder: string, say: Say): Promise<Figures> {
  const server = await startServer()
  const address = withSchema(server.url, 'processes')
  const keyring = join(folder, 'processes.keys')
  const writers = await Promise.all(Array.from({ length: 4 }, () => startWriter(address, keyring)))
  const rate = async (some: readonly Writer[]) => {
    const counts = await Promise.all(some.map(writer => writer.appendFor(roundMs)))
    return counts.reduce((sum, count) => sum + count, 0) / (roundMs / 1_000)
  }
  const { one, four } = await interleave(
    { one: () => rate(writers.slice(0, 1)), four: () => rate(writers) },
    say,
    rounds,
  )
  const stalls: number[] = []
  const store = await openStoreOn(server.url, 'processes', folder, [])
  for (let n = 0; n < rounds; n++) {
    await writers[n % 4]?.standStill()
    const began = performance.now()
    await store.append(appendOne(`consent-${createId()}`, 1))
    stalls.push(performance.now() - began)
  }
  say(`  a stopped holder of the lock stalls the others for ${stalls.map(Math.round).join(', ')} ms`)
  await store.close()
  for (const writer of writers) writer.end()
  await server.close()
  return {
    onePerSecond64: Math.round(medianOf(one)),
    fourPerSecond64: Math.round(medianOf(four)),
    fourProcesses: ratioOf(four, one),
    pausedWriterStallMs: Math.round(Math.max(...stalls)),
  }
}

/** A process that appends when it is told to. */
interface Writer {
  appendFor(ms: number): Promise<number>
  /** Resolves when the process holds the lock of the log and stands still. It goes on after some seconds. */
  standStill(): Promise<void>
  end(): void
}

async function startWriter(address: string, keyring: string): Promise<Writer> {
  const script = join(import.meta.dirname, 'fleet-writer.ts')
  const child: ChildProcess = spawn(process.execPath, [script, address, keyring], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const { stdin, stdout } = child
  if (!stdin || !stdout) throw new TypeError('The child has pipes')
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]()
  const answerTo = async (order: string) => {
    stdin.write(`${order}\n`)
    return String((await lines.next()).value)
  }
  if ((await lines.next()).value !== 'opened') throw new TypeError('The writer did not open the log')
  return {
    appendFor: async ms => Number(await answerTo(`append ${ms}`)),
    standStill: async () => void (await answerTo('stand still')),
    end: () => void child.kill('SIGKILL'),
  }
}

/** How long after the death of a process another one takes its calls over, and what happens when the token dies. */
export async function benchFleetRecovery(folder: string, say: Say): Promise<Figures> {
  const server = await startServer()
  const takeoverMs = await measureTakeover(server, folder)
  say(`  the calls of a killed process were taken over ${takeoverMs} ms after it was killed`)
  const tokenRequests = await countTokens(server, folder)
  say(`  four processes with 200 calls in flight each asked for ${tokenRequests} token when theirs died`)
  await server.close()
  return { takeoverMs, tokenRequests }
}

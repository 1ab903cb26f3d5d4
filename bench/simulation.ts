import { samples, simulate, VirtualClock, type World } from '../src/simulation/index.ts'
import { type Figures, medianOf, type Say } from './measure.ts'

const dayMs = 86_400_000
const openings = 20
const days = 7

/** What a simulated world costs: opening one, and a day on which nothing happens. */
export async function benchSimulation(_folder: string, say: Say): Promise<Figures> {
  const openMs = await timeToOpen()
  say(`simulation: ${openMs} ms to open a world (at most 15)`)
  const { idleDayMs, pollingDayMs } = await timeOfADay()
  say(`simulation: ${idleDayMs} ms for an idle day of averba.run (at most 250)`)
  say(`simulation: ${pollingDayMs} ms for a day of a bare loop that looks every second`)
  return { openMs, idleDayMs, idleVsPolling: Number((pollingDayMs / idleDayMs).toFixed(1)) }
}

async function timeToOpen(): Promise<number> {
  const times: number[] = []
  for (let i = 0; i <= openings; i++) {
    const began = performance.now()
    const world = await simulate({ seed: i })
    if (i > 0) times.push(performance.now() - began) // The first one loads and compiles the code.
    await world.close()
  }
  return round(medianOf(times))
}

/** In turn, so that both meet the same moments of the machine. */
async function timeOfADay(): Promise<{ idleDayMs: number; pollingDayMs: number }> {
  const world = await simulate({
    averba: { subscriptions: [{ evento: 'dimp-situacao-import', chaveSecreta: 'segredo-de-exemplo' }] },
  })
  const { averba, clock } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  await averba.consents.enrol({ cpf: samples.cpf })
  const stopping = new AbortController()
  const running = averba.run({ signal: stopping.signal })
  await clock.advance(dayMs) // Reads everything once.
  const [idle, polling]: number[][] = [[], []]
  for (let i = 0; i < days; i++) {
    idle?.push(await timeToAdvance(clock))
    polling?.push(await timeOfPolling())
  }
  stopping.abort()
  await running
  await world.close()
  return { idleDayMs: round(medianOf(idle ?? [])), pollingDayMs: round(medianOf(polling ?? [])) }
}

async function timeToAdvance(clock: World['clock'] | VirtualClock): Promise<number> {
  const began = performance.now()
  await clock.advance(dayMs)
  return performance.now() - began
}

/** What any program costs that waits in steps of a second. */
async function timeOfPolling(): Promise<number> {
  const clock = new VirtualClock()
  const stopping = new AbortController()
  const look = async () => {
    while (!stopping.signal.aborted) await clock.sleep(1_000, stopping.signal)
  }
  const looking = look()
  const ms = await timeToAdvance(clock)
  stopping.abort()
  await looking
  return ms
}

function round(ms: number): number {
  return Number(ms.toFixed(1))
}

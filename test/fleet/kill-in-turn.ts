import { setTimeout as after } from 'node:timers/promises'
import type { Child } from '../crash/child.ts'
import type { LoadMessage } from '../crash/load.ts'
import type { PostgresServer } from '../support/postgres-server.ts'
import { Random } from '../support/random.ts'

/** How many processes share a log. */
const processes = 4

/** The size of a part that kills processes. */
export interface KillOptions {
  readonly seed: number
  readonly kills: number
  /** How many of the kills are a stop instead, for longer than a process may hold the lock or a lease. It goes on. */
  readonly stops: number
}

/** How processes are started, killed and stopped. */
interface Turns extends KillOptions {
  /** Starts the nth process, in one of the places. */
  readonly start: (n: number, place: number) => Child
  readonly stopMs: number
  /** How many messages a process sends before something happens to it, at most. */
  readonly messagesMax: number
  /** How many messages a process sends after it was stopped, and before the end. */
  readonly messagesMin: number
  /** Before which kill the server is restarted. */
  readonly restarts: ReadonlyMap<number, NodeJS.Signals>
}

/** Runs four processes, each of which is killed in turn or stands still. Returns what all of them sent. */
export async function killInTurn(server: PostgresServer, turns: Turns): Promise<LoadMessage[]> {
  const { seed, kills, stops, start, stopMs, messagesMax, messagesMin, restarts } = turns
  const random = new Random(seed)
  const running = Array.from({ length: processes }, (_, place) => start(place, place))
  const all = [...running]
  for (let kill = 0; kill < kills; kill++) {
    const place = kill % processes
    const child = running[place] as Child // There is one in every place.
    await child.hasSent(1 + random.below(messagesMax))
    const restart = restarts.get(kill)
    if (restart) await server.restart(restart)
    if (kill < stops) {
      child.process.kill('SIGSTOP')
      await after(stopMs)
      child.process.kill('SIGCONT')
      await child.hasSent(child.sent() + messagesMin)
      continue
    }
    child.process.kill('SIGKILL')
    running[place] = start(processes + kill, place)
    all.push(running[place])
  }
  await Promise.all(running.map(child => child.hasSent(messagesMin)))
  for (const child of running) child.process.kill('SIGKILL')
  return (await Promise.all(all.map(child => child.ended))).flatMap(({ messages }) => messages)
}

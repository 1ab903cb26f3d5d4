/** Makes many calls, and describes the log, so that runs can be compared. As a script, prints it. */
import { hash } from 'node:crypto'
import { walkThroughManyCalls } from '../support/many-calls.ts'

const digest = (value: unknown) => hash('sha256', JSON.stringify(value), 'hex')

/** Describes the log of a seed, with a line for each event. */
export async function describeLog(seed: number, days = 6) {
  const { world, crashes } = await walkThroughManyCalls(seed, days)
  const events = await Array.fromAsync(world.averba.log.read())
  const rows = await world.averba.views.selectFrom('consents').selectAll().orderBy('consent').execute()
  const described = {
    digest: await world.digest(),
    ...{ rows: digest(rows), requests: digest(world.requests), now: world.clock.now(), crashes },
    types: [...new Set(events.map(event => event.type))],
    events: events.map(event => `${event.at} ${event.type} ${digest(event).slice(0, 12)}`),
  }
  await world.close()
  return described
}

if (process.argv[1] === import.meta.filename) console.log(JSON.stringify(await describeLog(Number(process.argv[2]))))

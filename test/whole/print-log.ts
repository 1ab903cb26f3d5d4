/** Makes many calls, and prints the log, so that runs can be compared. */
import { hash } from 'node:crypto'
import { walkThroughManyCalls } from '../support/many-calls.ts'

const { world, crashes } = await walkThroughManyCalls(Number(process.argv[2]))
const events = []
for await (const event of world.averba.log.read()) events.push(event)
const rows = await world.averba.views.selectFrom('consents').selectAll().orderBy('consent').execute()
console.log(
  JSON.stringify({
    digest: await world.digest(),
    rows: hash('sha256', JSON.stringify(rows), 'hex'),
    requests: hash('sha256', JSON.stringify(world.requests), 'hex'),
    now: world.clock.now(),
    crashes,
    types: [...new Set(events.map(event => event.type))],
    events: events.map(
      event => `${event.at} ${event.type} ${hash('sha256', JSON.stringify(event), 'hex').slice(0, 12)}`,
    ),
  }),
)
await world.close()

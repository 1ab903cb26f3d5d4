import { openSocket } from '../../src/adapters/http/transport.ts'
import { type AverbaError, examine, openAverba } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'

/** Runs on Deno with few permissions, and prints how each piece of work fails. */
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    ({ code, message, hint }: AverbaError) => ({ code, message, hint }),
  )

const [store = ''] = process.argv.slice(2)
const { checks } = await examine({ store })
console.log(
  JSON.stringify({
    opened: await failureOf(openAverba({ store })),
    called: await failureOf(openSocket({ clock: systemClock }).fetch(new Request('https://127.0.0.1:9/'))),
    writing: checks.find(({ name }) => name === 'writing'),
  }),
)

import { openSocket } from '../../src/adapters/http/transport.ts'
import { type AverbaError, examine, openAverba, serveReceivers } from '../../src/index.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createAuthority } from '../../src/simulation/served/authority.ts'

/** Runs on Deno with few permissions, and prints how each piece of work fails. */
const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => 'nothing',
    ({ code, message, hint }: AverbaError) => ({ code, message, hint }),
  )

const [store = '', permitted = ''] = process.argv.slice(2)
const averba = await openAverba({ store: permitted })
const receivers = { '/averba': averba.receiver }
const certificate = await (await createAuthority(Date.now())).issueServer(['localhost'])
const listenOn = (host: string) => failureOf(serveReceivers({ receivers, certificate, host, port: 8443 }))
const { checks } = await examine({ store })
console.log(
  JSON.stringify({
    exported: await failureOf(averba.audit.export(`${store}.export`)),
    listened: await listenOn('127.0.0.1'),
    listenedByName: await listenOn('localhost'),
    opened: await failureOf(openAverba({ store })),
    called: await failureOf(openSocket({ clock: systemClock }).fetch(new Request('https://127.0.0.1:9/'))),
    writing: checks.find(({ name }) => name === 'writing'),
  }),
)

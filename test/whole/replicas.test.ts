import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createNotification, subscriptions } from '../crash/notification-of.ts'
import { openClient, own } from '../support/over-tls.ts'
import { PostgresServer, withSchema } from '../support/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type CommandProcess, startAverba } from './run-averba.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await PostgresServer.start()
})
const started: CommandProcess[] = []
afterAll(async () => {
  for (const { child } of started) child.kill('SIGKILL')
  await server.close()
})

/** A process of `averba run`, and the ports on which it listens. */
interface Replica extends CommandProcess {
  readonly status: number
  readonly receiver: number
}

/** How many notifications are acknowledged before the next step of the update. */
const perStep = 10

/** A configuration as docs/deploy/kubernetes.yaml runs it, with a handler that prints what it gets. */
function writeConfig(): string {
  const folder = temporaryFolder()
  const options = {
    ...{ store: withSchema(server.url, 'replicas'), keyring: join(folder, 'averba.keys') },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] },
    subscriptions,
  }
  const file = join(folder, 'averba.config.ts')
  writeFileSync(
    file,
    `const receiver = { port: 0, host: '127.0.0.1', certificate: ${JSON.stringify(own)} }
    const prepare = async averba =>
      averba.notifications.handle('dimp-situacao-import', 'inbox', async ({ body }) =>
        console.log(JSON.stringify({ handled: body.numero })))
    export default { ...${JSON.stringify(options)}, run: { port: 0, receiver, prepare } }`,
  )
  return file
}

async function startReplica(config: string): Promise<Replica> {
  const command = startAverba(['run', '--config', config])
  started.push(command)
  const portIn = async (message: string) => JSON.parse(await command.line(`"message":"${message}"`)).port
  return { ...command, status: await portIn('listening'), receiver: await portIn('receiving') }
}

async function isReady({ status }: Replica): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${status}/readyz`).catch(() => undefined)
  return answer?.status === 200
}

test('replicas that start at once and are replaced one by one lose no notification, and handle each once', async () => {
  const config = writeConfig()
  // On an empty schema: one of them creates the tables.
  let replicas = await Promise.all([startReplica(config), startReplica(config)])
  const { fetch } = openClient()
  const acknowledged: string[] = []
  let isOver = false
  /** What a service of Kubernetes does: each request goes to a replica that is ready. */
  const send = async () => {
    for (let n = 0; !isOver; n++) {
      const replica = replicas[n % replicas.length]
      if (!replica || !(await isReady(replica))) continue
      const number = `26BR-${acknowledged.length}-${n}`
      const request = new Request(`https://localhost:${replica.receiver}/averba`, createNotification(number))
      const answer = await fetch(request).catch(() => undefined)
      if (answer?.status === 200) acknowledged.push(number)
    }
  }
  const hasSent = async (count: number) => {
    while (acknowledged.length < count) await after(5)
  }
  const sending = send()
  for (let step = 1; step <= 2; step++) {
    await hasSent(step * perStep)
    const [oldest, ...others] = replicas
    replicas = [...others, await startReplica(config)]
    oldest?.child.kill('SIGTERM')
    expect(await oldest?.ended).toMatchObject({ code: 0, err: '' })
  }
  await hasSent(3 * perStep)
  isOver = true
  await sending
  const handled = () => started.flatMap(({ out }) => out().match(/(?<=^\{"handled":")[^"]+/gm) ?? [])
  await expect.poll(() => handled().length, { timeout: 30_000 }).toBeGreaterThanOrEqual(acknowledged.length)
  expect(handled().sort()).toEqual([...acknowledged].sort())
  for (const { child, ended } of replicas) {
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
  }
})

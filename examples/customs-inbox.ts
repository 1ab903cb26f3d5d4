/** A customs broker's inbox: the portal's notifications behind Express, and their contents once in a database of its own. */
import { createServer } from 'node:http'
import { DatabaseSync } from 'node:sqlite'
import { openAverba } from 'averba'
import { startServices } from 'averba/simulation'
import express from 'express'

const evento = 'dimp-situacao-import'
const services = await startServices() // yours: the options of averba init
const averba = await openAverba({
  store: 'customs-inbox.sqlite',
  ...services.options,
  receiver: {
    publicUrl: 'https://receptor.exemplo.br/averba',
    trustedProxies: 1, // ends TLS, and adds the address that it saw
    sources: ['127.0.0.1/32'], // the simulated portal; without it only the portal's own addresses are accepted
  },
  subscriptions: [{ evento, chaveSecreta: process.env.HOOK_SECRET ?? 'made up by you' }],
})

const own = new DatabaseSync('broker.sqlite')
own.exec('create table if not exists declaration (notification text primary key, number text, status text)')
const insert = own.prepare('insert into declaration values (?, ?, ?) on conflict do nothing')

// At least once, after a crash too: the key of the row makes it once.
averba.notifications.handle<{ numero: string; situacao: string }>(evento, 'broker', async ({ id, body }) => {
  insert.run(id, body.numero, body.situacao)
  console.log(`${body.numero} is ${body.situacao}`)
})

const app = express()
// Before any body parser: the receiver stores the bytes as they came.
app.post('/averba', averba.receiver.listener)
const server = createServer(app).listen(0, '127.0.0.1')
await new Promise(resolve => server.once('listening', resolve))

const stop = new AbortController()
const running = averba.run({ signal: stop.signal })
const [applied] = await averba.subscriptions.apply(await averba.subscriptions.plan())
console.log(JSON.stringify({ subscribed: applied?.status, address: server.address() }))

process.once('SIGTERM', async () => {
  server.close()
  stop.abort()
  await running
  own.close()
  await averba.close()
  await services.close()
})

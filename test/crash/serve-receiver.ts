/** A child process that receives notifications over TLS, until it is killed. */
import { openAverba, serveReceivers } from '../../src/index.ts'
import { subscriptions } from './notification-of.ts'

const { store, cert, key } = JSON.parse(process.argv[2] ?? '') as Record<'store' | 'cert' | 'key', string> // Written by the parent.

const averba = await openAverba({
  store,
  subscriptions,
  receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] },
})
const receivers = { '/averba': averba.receiver }
const { port } = await serveReceivers({ receivers, certificate: { cert, key }, host: '127.0.0.1', port: 0 })
console.log(port)

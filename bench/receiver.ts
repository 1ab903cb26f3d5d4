import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Averba, openAverba } from '../src/index.ts'
import { type Load, load } from './load.ts'
import { type Figures, interleave, medianOf, ratioOf, type Say } from './measure.ts'
import { NaiveReceiver } from './naive-receiver.ts'

const evento = 'dimp-situacao-import'
const secret = 'f0a1c7d93b5e4286a1c7d93b5e4286f0'
const authorization = 'Basic YXZlcmJhOmYwYTFjN2Q5M2I1ZTQyODY='
const connections = 50
const seconds = 3

/** A change of situation of an import declaration, with a text that is new each time as its number. */
const bodies = [
  '{"identificacao":{"numero":"',
  '","versao":"1"},"niImportador":"12ABC34501DE35","situacaoDuimp":"REGISTRADA_AGUARDANDO_CANAL",' +
    '"evento":["Registro da Duimp"],"dataEvento":"2026-11-20T12:00:00.000-0300","canal":"VERDE",' +
    '"linkConsulta":{"method":"GET","url":"https://portal.exemplo.br/duimp-api/api/ext/duimp"}}',
] as const

const headers = {
  'content-type': 'application/json',
  'event-type': evento,
  'destinatario-tipo': 'CNPJ',
  'destinatario-id': '12ABC34501DE35',
  secret,
  authorization,
}

/**
 * Notifications that are authenticated, sealed, stored durably and acknowledged, over plain HTTP and 50 connections:
 * against a server that answers 204 and does nothing, and against one that inserts the plain body by itself.
 */
export async function benchReceiver(folder: string, say: Say): Promise<Figures> {
  const averba = await openAverba({
    store: join(folder, 'receiver.sqlite'),
    subscriptions: [{ evento, chaveSecreta: secret, chaveAutenticacao: authorization }],
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: ['127.0.0.0/8'] },
  })
  const naive = new NaiveReceiver(join(folder, 'naive.sqlite'), { secret, authorization })
  const p99s: number[] = []
  const acknowledged = { averba: 0, naive: 0 }
  const post = async (listener: RequestListener, told: (load: Load) => void) => {
    const done = await loadOn(listener, say)
    if (done.failed > 0) throw new Error(`${done.failed} requests were not answered 2xx`)
    told(done)
    return done.perSecond
  }
  say(`receiver: ${connections} connections, ${seconds} s each, bodies of ${bodies.join('').length} bytes and more`)
  const rates = await interleave(
    {
      bare: () =>
        post(
          (_, outgoing) => void outgoing.writeHead(204).end(),
          () => undefined,
        ),
      naive: () =>
        post(naive.listener, done => {
          acknowledged.naive += done.acknowledged
        }),
      averba: () =>
        post(averba.receiver.listener, done => {
          acknowledged.averba += done.acknowledged
          p99s.push(done.p99Ms)
        }),
    },
    say,
    5,
  )
  checkKept('averba', await countOf(averba), acknowledged.averba)
  checkKept('naive', naive.count(), acknowledged.naive)
  naive.close()
  await averba.close()
  return {
    barePerSecond: Math.round(medianOf(rates.bare)),
    naivePerSecond: Math.round(medianOf(rates.naive)),
    receiverPerSecond: Math.round(medianOf(rates.averba)),
    receiverVsBare: ratioOf(rates.averba, rates.bare),
    receiverVsNaive: ratioOf(rates.averba, rates.naive),
    receiverP99Ms: medianOf(p99s.slice(1)),
  }
}

async function loadOn(listener: RequestListener, say: Say): Promise<Load> {
  const server = createServer(listener)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // It listens on a port.
  try {
    const url = `http://127.0.0.1:${port}/averba`
    return await load({ url, connections, seconds, headers, bodies }, say)
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

async function countOf(averba: Averba): Promise<number> {
  const query = averba.views.selectFrom('notifications').select(eb => eb.fn.countAll<number>().as('count'))
  return (await query.executeTakeFirstOrThrow()).count
}

/** Every body is new, so that each acknowledged one is a row; those under way at the end are rows too. */
function checkKept(name: string, kept: number, acknowledged: number): void {
  if (kept < acknowledged) throw new Error(`${name} acknowledged ${acknowledged}, and kept ${kept}`)
}

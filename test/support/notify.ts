import type { Averba } from '../../src/index.ts'

/** Sends a notification of the event `e` to the receiver of an engine, as the portal does. */
export function notify({ receiver }: Pick<Averba, 'receiver'>, body: unknown): Promise<Response> {
  const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const request = new Request('https://receptor.exemplo.br/averba', init)
  return receiver.fetch(request, { remoteAddress: '189.9.1.2' })
}

import type { Averba } from '../../src/index.ts'

/** Sends a notification to the receiver of an engine, as the portal does: by default of the event `e`, to a company. */
export function notify(
  { receiver }: Pick<Averba, 'receiver'>,
  body: unknown,
  more: Record<string, string> = {},
): Promise<Response> {
  const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35', ...more }
  const init = { method: 'POST', headers, body: JSON.stringify(body) }
  const request = new Request('https://receptor.exemplo.br/averba', init)
  return receiver.fetch(request, { remoteAddress: '189.9.1.2' })
}

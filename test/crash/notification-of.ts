/** The subscription whose notifications the load receives. */
export const subscriptions = [
  { evento: 'dimp-situacao-import', chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' },
]

/** A notification of the portal, about a number. */
export function notificationOf(number: string): Request {
  return new Request('https://receptor.exemplo.br/averba', {
    method: 'POST',
    headers: {
      'event-type': 'dimp-situacao-import',
      'destinatario-tipo': 'CNPJ',
      'destinatario-id': '12ABC34501DE35',
      secret: 'chave-um',
      authorization: 'Basic YTpi',
    },
    body: JSON.stringify({ numero: number }),
  })
}

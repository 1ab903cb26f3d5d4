export const subscriptions = [
  { evento: 'dimp-situacao-import', chaveSecreta: 'chave-um', chaveAutenticacao: 'Basic YTpi' },
]

/** Creates a notification of the portal with a number in its body. */
export function createNotification(number: string): Request {
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

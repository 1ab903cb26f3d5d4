import type { EventWords } from './english-events.ts'
import { inLanguage } from './labels.ts'
import texts from './words.json' with { type: 'json' }

const changedBy = { us: 'a pedido desta organização', service: 'conforme o serviço de consentimento' } as const
const origins = {
  host: 'por esta organização',
  validation: 'por uma validação',
  notification: 'por uma notificação',
} as const
const ofController = (cnpj?: string) => (cnpj === undefined ? '' : `, só do controlador ${cnpj}`)
const countRecords = (count: number) => (count === 1 ? '1 registro' : `${count} registros`)

const registeredHow = {
  created: 'criada no portal',
  adopted: 'adotada: o portal já a tinha',
  takenOver: 'assumida de outros',
} as const

const retained = inLanguage<string>(texts.retained, 'pt-BR')

export const portugueseEvents: EventWords = {
  'subject.enrolled': ({ origin }) => `Titular cadastrado ${origins[origin]}`,
  'subject.syncRequested': ({ controller }) => `Leitura dos consentimentos pedida${ofController(controller)}`,
  'subject.awarenessRequested': ({ controller }) =>
    `Leitura das ciências de tratamento pedida${ofController(controller)}`,
  'subject.loginRequested': () => 'Consulta da situação de login pedida',
  'subject.scheduled': ({ everyMs }) =>
    `Leitura periódica dos consentimentos a cada ${Math.round(everyMs / 60_000)} minutos`,
  'subject.unscheduled': () => 'Leitura periódica dos consentimentos encerrada',
  'subject.synced': ({ read, changed, controller }) =>
    `Lista de consentimentos lida${ofController(controller)}: ${countRecords(read)}, ${changed} com mudança`,
  'subject.awarenessAppeared': () => 'Uma ciência de tratamento passou a constar',
  'subject.awarenessAmended': () => 'Data ou controlador de uma ciência de tratamento corrigidos pelo serviço',
  'subject.awarenessVanished': () => 'Uma ciência de tratamento deixou de constar no serviço',
  'subject.awarenessListed': ({ read, controller }) =>
    `Lista de ciências de tratamento lida${ofController(controller)}: ${countRecords(read)}`,
  'subject.awarenessDetailRequested': () => 'Leitura completa de uma ciência de tratamento pedida',
  'subject.awarenessDescribed': () => 'Ciência de tratamento lida por completo',
  'subject.loginRead': ({ isAuthenticated }) =>
    `Situação de login lida: ${isAuthenticated ? 'autenticado' : 'não autenticado'}`,
  'subject.loginAddressRequested': () => 'Endereço de login pedido',
  'subject.loginAddressRead': () => 'Endereço de login recebido',
  'subject.readDeclined': ({ httpStatus }) => `O serviço recusou uma leitura (HTTP ${httpStatus})`,
  'subject.useRefused': () => 'Uso de dados recusado: o consentimento nunca foi visto',
  'consent.appeared': ({ status }) => `Um consentimento passou a constar como ${status}`,
  'consent.amended': () => 'Datas ou controlador do consentimento corrigidos pelo serviço',
  'consent.approved': ({ by }) => `Consentimento aprovado ${changedBy[by]}`,
  'consent.denied': ({ by }) => `Consentimento negado ${changedBy[by]}`,
  'consent.revoked': ({ by }) => `Consentimento revogado ${changedBy[by]}`,
  'consent.expired': ({ by }) => `Consentimento expirado ${changedBy[by]}`,
  'consent.conflicted': ({ status, held, isVanished }) =>
    isVanished
      ? `O serviço deixou de listar o consentimento, mas responde que está ${status}: vale o que o serviço diz`
      : `O serviço mostra ${status}, que não podia seguir a ${held}: vale o que o serviço diz`,
  'consent.vanished': () => 'O consentimento deixou de constar no serviço',
  'consent.lapsed': () => 'A data de expiração do consentimento passou',
  'consent.confirmed': ({ status }) => `O serviço confirma o consentimento como ${status}`,
  'consent.changeRequested': ({ status }) => `Mudança para ${status} pedida ao serviço`,
  'consent.changeDeclined': ({ httpStatus }) => `O serviço recusou a mudança (HTTP ${httpStatus})`,
  'consent.readDeclined': ({ httpStatus }) => `O serviço recusou a leitura (HTTP ${httpStatus})`,
  'consent.readGivenUp': () =>
    'O consentimento não pôde ser lido por completo durante um dia: vale o que a lista mostra',
  'consent.answeredLate': ({ asked, status }) =>
    status === null
      ? 'Uma mudança terminou depois que uma leitura já havia mostrado o resultado'
      : status === asked
        ? `O serviço respondeu que fez a mudança para ${status}, que uma leitura já havia mostrado`
        : `A resposta a uma mudança chegou tarde, com ${status}`,
  'consent.changeWithheld': ({ asked, sentBefore, isDone, isGivenUp }) =>
    `Mudança para ${asked} não ${sentBefore ? 'repetida' : 'enviada'}: ${isGivenUp ? 'desistiu-se dela' : isDone ? 'o serviço já havia mostrado essa situação' : 'já não se aplicava'}`,
  'consent.changeLost': () => 'A resposta ao pedido de mudança se perdeu: talvez tenha sido feita',
  'consent.changeContradicted': ({ status }) =>
    `O serviço respondeu à mudança com ${status}: uma nova leitura mostrará o que aconteceu`,
  'consent.changeNotMade': ({ asked, status, isGivenUp }) =>
    `A mudança para ${asked} não foi feita${isGivenUp ? ' e não é mais pedida' : ''}: o consentimento segue ${status}`,
  'consent.changeRepeated': ({ status }) => `${status} é pedido de novo`,
  'consent.endWanted': () => 'Negativa ou revogação pedida: segue quando o serviço voltar a listar o consentimento',
  'consent.endWithdrawn': () => 'A negativa ou revogação pedida foi retirada',
  'consent.detailRequested': () => 'Leitura completa do consentimento pedida',
  'consent.changeSeen': ({ status }) =>
    status === null
      ? 'O serviço mostra o consentimento em uma forma que não pode ser lida'
      : `O serviço mostra o consentimento como ${status}`,
  'consent.described': ({ history }) => `Consentimento lido por completo, com histórico de ${history.length}`,
  'consent.used': () => 'Dados usados com base neste consentimento',
  'consent.useRefused': () => 'Uso de dados recusado: o consentimento não valia',
  'validation.requested': () => 'Validação dos dados do titular pedida',
  'validation.reused': () => 'Validação respondida com o resultado de uma anterior, sem nova consulta',
  'validation.answered': ({ evaluated }) =>
    `Validação respondida: ${evaluated} ${evaluated === 1 ? 'campo avaliado' : 'campos avaliados'}`,
  'validation.declined': ({ httpStatus }) => `O serviço recusou a validação (HTTP ${httpStatus})`,
  'validation.withheld': ({ sentBefore, by }) =>
    `Validação não ${sentBefore ? 'repetida depois de uma tentativa não processada' : 'enviada'}: ${by ? 'desistiu-se dela' : 'o consentimento em que se baseava deixou de valer'}`,
  'validation.inconclusive': () => 'A resposta da validação se perdeu: talvez tenha sido feita',
  'validation.resolved': ({ charged, by }) =>
    by === 'attempt'
      ? 'A tentativa respondeu tarde: a validação não foi feita'
      : `Uma pessoa apurou que a validação ${charged ? 'foi' : 'não foi'} cobrada`,
  'validation.repeated': () => 'A validação foi repetida de propósito',
  'notification.received': ({ evento }) => `Notificação recebida: ${evento}`,
  'notification.recovered': ({ evento }) => `Notificação recuperada de um registro de falha: ${evento}`,
  'notification.copied': () => 'A mesma notificação chegou de novo',
  'notification.handled': ({ handler }) => `Notificação tratada por ${handler}`,
  'notification.failed': ({ handler }) => `O tratamento da notificação por ${handler} falhou`,
  'notification.parked': ({ handler }) => `O tratamento da notificação por ${handler} foi suspenso`,
  'notification.replayed': () => 'A notificação será tratada de novo',
  'notification.skipped': ({ handlers }) => `A notificação não será entregue de novo a ${handlers.join(', ')}`,
  'subject.held': () => 'Guarda obrigatória: nada do titular é eliminado por prazo',
  'subject.released': () => 'Fim da guarda obrigatória',
  'subject.erasureRequested': () => 'Eliminação dos dados do titular pedida',
  'subject.erased': ({ kept }) =>
    kept.length > 0
      ? 'Dados do titular eliminados, exceto os que a lei manda conservar'
      : 'Dados do titular eliminados',
  'subject.erasureCompleted': () => 'Eliminação concluída: chaves renovadas e arquivo verificado',
  'subject.epochsDestroyed': () =>
    'Chaves antigas destruídas: nenhuma cópia de segurança abre o que foi eliminado, salvo se a chave foi conservada',
  'consent.erased': () => 'Dados deste consentimento eliminados',
  'validation.erased': () => 'Dados desta validação eliminados',
  'reveal.recorded': ({ purpose, isDisclosed }) =>
    isDisclosed
      ? `Chave de um registro entregue a terceiro, que abre seus dados lacrados: ${purpose}`
      : `Dados lacrados abertos para esta organização: ${purpose}`,
  'retention.applied': ({ kind }) => `Prazo de conservação encerrado, dados eliminados: ${retained[kind] ?? kind}`,
  'effect.attempted': ({ attempts }) => `Tentativa ${attempts} de fazer a chamada iniciada`,
  'effect.deferred': ({ wait }) =>
    wait === 'known' ? 'Chamada adiada até um horário conhecido' : 'Chamada ainda não feita: haverá nova tentativa',
  'effect.parked': ({ by }) =>
    by === 'operator' ? 'Chamada suspensa por um operador' : 'Chamada suspensa depois de muitas tentativas',
  'effect.misunderstood': ({ unread }) => `A resposta ${unread.httpStatus} a uma chamada não foi compreendida`,
  'effect.withdrawn': () => 'Chamada retirada: desistiu-se dela, ou outra toma o seu lugar',
  'effect.resumed': () => 'Chamada liberada por um operador',
  'subscription.declared': ({ evento }) => `Inscrição em ${evento} declarada`,
  'subscription.registrationRequested': () => 'Inscrição pedida ao portal',
  'subscription.changeRequested': () => 'Alteração pedida ao portal',
  'subscription.rotationRequested': ({ generation }) => `Novos segredos pedidos ao portal: geração ${generation}`,
  'subscription.registered': ({ how }) => `Inscrição ${registeredHow[how]}`,
  'subscription.changed': ({ generation }) => `Inscrição alterada no portal: segredos da geração ${generation}`,
  'subscription.drifted': ({ generation }) =>
    `A inscrição no portal difere do que se conhecia: os segredos ${generation === null ? 'não são nossos' : `são da geração ${generation}`}`,
  'subscription.deletionRequested': () => 'Exclusão pedida ao portal',
  'subscription.deleted': ({ by }) => (by === 'portal' ? 'O PORTAL EXCLUIU a inscrição' : 'Inscrição excluída'),
  'subscription.reappeared': () => 'O portal lista a inscrição como ativa de novo',
  'subscription.declined': ({ httpStatus }) =>
    httpStatus === 0
      ? 'Desistiu-se de uma alteração da inscrição'
      : `O portal recusou uma alteração (HTTP ${httpStatus})`,
  'subscription.lost': () => 'A resposta a uma alteração da inscrição se perdeu: talvez tenha sido feita',
  'subscription.changeNotMade': () => 'O portal mostra que a alteração não foi feita',
  'subscription.failing': ({ failedAt }) => `Uma entrega falhou${failedAt === null ? '' : ` em ${failedAt}`}`,
  'subscription.failureRecovered': ({ how }) =>
    how === 'recovered' ? 'Uma notificação que falhou foi recuperada' : 'Uma notificação que falhou já estava aqui',
  'subscription.delivered': () => 'O portal mostra uma entrega bem-sucedida',
  'subscription.dated': () => 'O portal mostra quando a inscrição foi registrada',
  'subscription.recovered': () => 'Uma entrega deu certo depois de falhas',
  'subscription.threatened': ({ daysLeft, deletionAt }) =>
    `Só erros há muito tempo: o portal exclui a inscrição em ${deletionAt} (dias restantes: ${daysLeft})`,
  'portal.listRequested': () => 'Lista de inscrições pedida ao portal',
  'portal.listed': () => 'Lista de inscrições lida',
  'portal.recoveryRequested': ({ from, day }) => `Leitura diária pedida: a lista e as falhas de ${from} a ${day}`,
  'portal.failuresRequested': ({ day }) => `Registros de falha pedidos${day === null ? '' : ` de ${day}`}`,
  'portal.recoveryHastened': () => 'Registros de falha serão lidos em breve',
  'portal.failuresListed': () => 'Registros de falha lidos',
  'portal.foreignFailure': () => 'Registro de falha de um evento sem inscrição nossa',
  'portal.readDeclined': ({ httpStatus }) => `O portal recusou uma leitura (HTTP ${httpStatus})`,
  'token.requested': () => 'Token pedido ao gateway',
  'token.renewed': () => 'Token recebido',
  'token.rejected': ({ until }) =>
    until === undefined
      ? 'Uma operação rejeitou o token'
      : `Tokens novos foram rejeitados: nenhum é pedido antes de ${until}`,
  'token.repeated': ({ until }) => `O gateway devolveu o token rejeitado: nenhum é pedido antes de ${until}`,
  'token.locked': ({ httpStatus }) =>
    `O gateway recusou as credenciais (HTTP ${httpStatus}): nenhum pedido até que mudem`,
  'token.requestFailed': () => 'Um pedido de token falhou',
  'certificate.expiring': ({ daysLeft }) => `Um certificado expira em breve (dias restantes: ${daysLeft})`,
  'certificate.renewed': () => 'Um certificado novo está em uso',
  'budget.spent': () => 'Uma chamada paga foi contada',
  'follower.retryRequested': ({ follower, position }) =>
    `O seguidor ${follower} tenta de novo o evento na posição ${position}`,
  'follower.removeRequested': ({ follower }) => `O seguidor ${follower} é removido`,
  'follower.skipRequested': ({ follower, position }) => `O seguidor ${follower} pula o evento na posição ${position}`,
  unexpected: () => 'Chegou uma resposta que já não era esperada: foi guardada e nada muda',
}

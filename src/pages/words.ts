import type { StandingReason } from '../machines/consent/standing.ts'
import type { HandlerState, HandlingState } from '../machines/notification.ts'
import type { EffectState, Waiting } from '../vocabulary/message.ts'
import { englishEvents, englishRetained } from './english-events.ts'
import { type BothLanguages, inLanguage, type Language } from './labels.ts'
import { portugueseEvents, portugueseRetained } from './portuguese-events.ts'

/** Who gave a piece of data. */
export type DataSource = 'host' | 'consentService' | 'validationService' | 'portal'

/** How a call ended without an answer: the type of the event, or what was found out after the answer was lost. */
export type CallEnding = keyof typeof callEndings

const awarenessRecord = [
  'Ciência de tratamento: identificação e textos do serviço',
  "Awareness record: the service's id and texts",
] as const
const ownProblem = [
  'Mensagem de erro do averba, e não do serviço',
  'Error message of averba, and not of the service',
] as const
const unreadableRecords = [
  'Registros do portal em forma desconhecida',
  'Records of the portal in an unknown form',
] as const

/** Names of sealed data, by the name of the part, or by `<event type>/<part name>`. */
const kinds: BothLanguages<string> = {
  cpf: ['CPF', 'CPF'],
  record: ['Registro do serviço: identificação e textos', "The service's record: its id and texts"],
  detail: ['Registro completo do serviço', "The service's full record"],
  'consent.appeared/record': [
    'Consentimento: identificação e textos do serviço',
    "Consent: the service's id and texts",
  ],
  'consent.described/detail': ['Consentimento: registro completo do serviço', "Consent: the service's full record"],
  'subject.awarenessAppeared/record': awarenessRecord,
  'subject.awarenessAmended/record': awarenessRecord,
  'subject.awarenessDescribed/detail': [
    'Ciência de tratamento: registro completo do serviço',
    "Awareness record: the service's full record",
  ],
  'validation.inconclusive/unreadable': [
    'Resposta a uma validação em forma desconhecida',
    'Answer to a validation in an unknown form',
  ],
  answer: ['Resposta que não foi compreendida', 'Answer that was not understood'],
  why: ['Motivo e evidência da decisão do titular', "Reason and evidence of the person's decision"],
  unreadable: ['Registros do serviço em forma desconhecida', 'Records of the service in an unknown form'],
  id: ['Identificação de um registro no serviço', 'Id of a record at the service'],
  redirect: ['Endereço de retorno do login', 'Address to return to after the login'],
  address: ['Endereço de login', 'Login address'],
  claims: ['Dados enviados para validação', 'Data sent for validation'],
  'validation.requested/reason': ['Motivo de refazer uma validação', 'Why a validation was repeated'],
  result: ['Resultado da validação, campo a campo', 'Result of the validation, field by field'],
  note: ['Anotação sobre uma validação', 'Note on a validation'],
  problem: ['Mensagem de erro do serviço', "The service's error message"],
  body: ['Conteúdo da notificação e a quem se destina', 'Content of the notification, and who was addressed'],
  'validation.withheld/problem': ownProblem,
  'validation.resolved/problem': ownProblem,
  'consent.changeWithheld/problem': ownProblem,
  list: ['Inscrições como o portal as lista', 'Subscriptions as the portal lists them'],
  answered: ['Registros de falha como o portal os mostra', 'Failure records as the portal shows them'],
  failure: ['Registro de falha do portal, sem o conteúdo', 'Failure record of the portal, without its content'],
  content: ['Conteúdo de um registro de falha', 'Content of a failure record'],
  reason: ['Motivo da exclusão de uma inscrição', 'Why a subscription was deleted'],
  'portal.listed/unreadable': unreadableRecords,
  'portal.failuresListed/unreadable': unreadableRecords,
}

const sources: BothLanguages<DataSource> = {
  host: ['esta organização', 'this organisation'],
  consentService: ['serviço de consentimento', 'consent service'],
  validationService: ['serviço de validação', 'validation service'],
  portal: ['portal de comércio exterior', 'foreign-trade portal'],
}

/** The services, by their names in the code. */
export const services = {
  consentService: ['Serviço de consentimento', 'Consent service'],
  validationService: ['Serviço de validação', 'Validation service'],
  tokenService: ['Serviço de tokens', 'Token service'],
  portal: ['Portal de comércio exterior', 'Foreign-trade portal'],
} as const

const operations: BothLanguages<string> = {
  'consentService.listConsents': ['leitura da lista de consentimentos', 'reading of the list of consents'],
  'consentService.readConsent': ['leitura completa de um consentimento', 'full reading of a consent'],
  'consentService.changeStatus': ['mudança de status de um consentimento', 'change of the status of a consent'],
  'consentService.listAwareness': [
    'leitura da lista de ciências de tratamento',
    'reading of the list of awareness records',
  ],
  'consentService.readAwareness': [
    'leitura completa de uma ciência de tratamento',
    'full reading of an awareness record',
  ],
  'consentService.readLogin': ['consulta da situação de login', 'reading of the login state'],
  'consentService.readLoginAddress': ['pedido de endereço de login', 'request for a login address'],
  'validationService.validatePerson': ['validação de dados da pessoa', "validation of a person's data"],
}

const effectStates: BothLanguages<EffectState> = {
  pending: ['ainda não enviada', 'not sent yet'],
  started: ['em andamento', 'under way'],
  deferred: ['não feita: será tentada de novo', 'not done: it will be tried again'],
  parked: ['não feita: suspensa', 'not done: on hold'],
  unknown: ['talvez feita: a resposta se perdeu', 'may be done: the answer was lost'],
  settled: ['respondida', 'answered'],
  cancelled: ['cancelada', 'cancelled'],
  declined: ['recusada pelo serviço', 'declined by the service'],
}

const notificationStates: BothLanguages<HandlingState> = {
  received: ['recebida', 'received'],
  failing: ['falhando', 'failing'],
  parked: ['suspensa', 'parked'],
  handled: ['tratada', 'handled'],
}

const handlerStates: BothLanguages<HandlerState['state']> = {
  waiting: ['ainda não chamado', 'not called yet'],
  failing: ['falhando', 'failing'],
  parked: ['suspenso', 'parked'],
  skipped: ['dispensado', 'skipped'],
  handled: ['terminou', 'done'],
}

const subscriptionStates: BothLanguages<string> = {
  declared: ['declarada', 'declared'],
  registering: ['sendo registrada', 'being registered'],
  active: ['ativa', 'active'],
  changing: ['sendo alterada', 'being changed'],
  deleting: ['sendo excluída', 'being deleted'],
  deleted: ['excluída', 'deleted'],
  unknown: ['ainda não se sabe', 'not known yet'],
  healthy: ['com entregas', 'delivering'],
  failing: ['com falhas', 'failing'],
}

/** What a call that has not ended waits for. */
const waitings: BothLanguages<Waiting['for']> = {
  process: ['venceu: à espera de um processo em funcionamento', 'due, for a process that runs'],
  otherProcess: [
    'à espera de um processo configurado para o seu serviço e endereço',
    'for a process that is configured for its service and address',
  ],
  time: ['até', 'until'],
  answer: ['em andamento', 'under way'],
  release: ['suspensa', 'parked'],
  reading: ['talvez feita: uma leitura o mostrará', 'perhaps done: a reading will show it'],
  person: [
    'talvez feita e paga: apure, e resolva (averba validations list --state inconclusive)',
    'perhaps done and paid: find out, and resolve it (averba validations list --state inconclusive)',
  ],
  repair: ['o seu evento está danificado: averba doctor --deep', 'its event is damaged: averba doctor --deep'],
}

const replaced = [
  'cancelada: uma leitura mais nova tomou o seu lugar',
  'cancelled: a newer reading replaced it',
] as const
const callEndings = {
  'subject.erased': ['cancelada: os dados do titular foram eliminados', "cancelled: the person's data was erased"],
  'subject.scheduled': ['cancelada: outro intervalo foi definido', 'cancelled: another interval was set'],
  'subject.unscheduled': [
    'cancelada: as leituras periódicas foram encerradas',
    'cancelled: periodic readings were ended',
  ],
  'subject.syncRequested': replaced,
  'subject.awarenessRequested': replaced,
  'subject.loginRequested': replaced,
  'effect.withdrawn': [
    'retirada: desistiu-se dela, ou outra chamada toma o seu lugar',
    'withdrawn: it was given up, or another call replaces it',
  ],
  'validation.withheld': [
    'não enviada: o consentimento indicado já não valia',
    'not sent: the consent that it names was no longer valid',
  ],
  'validation.withheld, sent before': [
    'não repetida: foi enviada e não processada; depois, o consentimento indicado já não valia',
    'not repeated: it was sent and not processed, and then the consent that it names was no longer valid',
  ],
  'consent.changeWithheld': ['não enviada: já não se aplicava', 'not sent: it no longer applied'],
  'consent.changeWithheld, sent before': [
    'não repetida: foi enviada e não processada; depois, já não se aplicava',
    'not repeated: it was sent and not processed, and then it no longer applied',
  ],
  'consent.changeWithheld, done': [
    'não enviada: o consentimento já tinha a situação pedida',
    'not sent: the consent had the requested status',
  ],
  'consent.changeWithheld, sent before, done': [
    'não repetida: foi enviada e não processada; depois, o consentimento já tinha a situação pedida',
    'not repeated: it was sent and not processed, and then the consent had the requested status',
  ],
  'validation.resolved': [
    'sem resultado: apurou-se se foi cobrada',
    'without a result: it was found out whether it was charged',
  ],
  cancelledAfterAnswer: [
    'enviada, e respondida sem ser feita; depois, cancelada',
    'sent, and answered without being done; then cancelled',
  ],
  ended: ['encerrada', 'ended'],
  'found done': ['feita: isso foi apurado depois', 'done, as was found out later'],
  'found not done': ['não feita: isso foi apurado depois', 'not done, as was found out later'],
} as const

const reasons: BothLanguages<StandingReason> = {
  active: [
    'estava ATIVO e dentro do prazo, por tudo o que se sabia',
    'it was ATIVO and within its term, as far as was known',
  ],
  pending: ['estava PENDENTE', 'it was PENDENTE'],
  denied: ['estava NEGADO', 'it was NEGADO'],
  revoked: ['estava REVOGADO', 'it was REVOGADO'],
  expired: ['estava EXPIRADO ou fora do prazo', 'it was EXPIRADO or past its term'],
  stale: ['a última leitura do serviço era antiga demais', 'the last reading of the service was too old'],
  vanished: ['deixou de constar no serviço', 'the service no longer listed it'],
  uncertain: [
    'havia dúvida: um pedido em andamento, uma resposta perdida ou um registro ilegível',
    'it was uncertain: a request under way, a lost answer or an unreadable record',
  ],
  'never-read': ['nada se sabia dele naquele instante', 'it was not known at that instant'],
}

const validationStates: BothLanguages<string> = {
  requested: ['pedida, sem resposta', 'requested, not answered'],
  answered: ['respondida', 'answered'],
  declined: ['recusada pelo serviço', 'declined by the service'],
  inconclusive: ['inconclusiva: a resposta se perdeu', 'inconclusive: the answer was lost'],
  resolved: ['apurada: a resposta se perdeu', 'resolved: the answer was lost'],
  erased: ['encerrada: os dados do titular foram eliminados', "ended: the person's data was erased"],
}

const origins: BothLanguages<string> = {
  host: ['cadastro por esta organização', 'enrolment by this organisation'],
  validation: ['uma validação pedida por esta organização', 'a validation that this organisation requested'],
  notification: ['uma notificação do portal', 'a notification of the portal'],
}

/** The categories of people that data is about, by the kind of its owner. */
const owners: BothLanguages<string> = {
  subject: ['titulares de dados', 'data subjects'],
  consent: ['titulares de dados', 'data subjects'],
  organisation: ['representantes de organizações', 'representatives of organisations'],
  subscription: ['destinatários de notificações', 'recipients of notifications'],
  notification: ['destinatários de notificações', 'recipients of notifications'],
  portal: ['pessoas citadas em registros do portal', "people named in the portal's records"],
}

const sentences = {
  thirdParty: ['Terceiro', 'Third party'],
  charged: ['foi cobrada', 'it was charged'],
  notCharged: ['não foi cobrada', 'it was not charged'],
  retention: [
    'Os dados pessoais ficam lacrados no registro até que esta organização os elimine. O evento permanece, sem os dados.',
    'Personal data stays sealed in the log until this organisation erases it. The event remains, without the data.',
  ],
  /** The heading before the retention rules of an organisation. */
  retentionRules: ['Prazos de eliminação', 'Destroyed after'],
  /** Instead of a piece of data that cannot be opened. */
  damagedPart: ['danificado: não pôde ser aberto', 'damaged: it could not be opened'],
  security: [
    'Dados pessoais cifrados (AES-256-GCM) com uma chave por pessoa, guardada sob um chaveiro à parte do banco. Registro só de acréscimos, com árvore de Merkle e checkpoints assinados.',
    'Personal data is encrypted (AES-256-GCM) with one key per person, and these keys with a keyring apart from the database. The log is append-only, with a Merkle tree and signed checkpoints.',
  ],
} as const

const terms = {
  untilSettled: ['até a conclusão', 'until it is settled'],
  day: ['dia', 'day'],
  days: ['dias', 'days'],
} as const

/** What a proof of events in a log does not prove. */
const unproven = [
  [
    'Que a chave é mesmo desta organização: compare a identificação da chave com a que ela publica.',
    "That the key is this organisation's: compare the key's id with the one that it publishes.",
  ],
  [
    'Que não há no registro outros eventos deste consentimento além dos mostrados: isso só o registro inteiro mostra (averba verify).',
    'That the log has no other events of this consent than those shown: only the whole log shows that (averba verify).',
  ],
  [
    'Que o registro não foi reescrito por inteiro por quem tem a chave: isso só um checkpoint guardado ou assinado por terceiros mostra.',
    'That the owner of the key did not rewrite the whole log: only a checkpoint that others kept or signed shows that.',
  ],
  [
    'Que o serviço disse a verdade: o registro guarda o que foi recebido e quando.',
    'That the service told the truth: the log keeps what was received, and when.',
  ],
  [
    'A conclusão: ela decorre dos eventos pelas regras publicadas, que esta página não recalcula.',
    'The conclusion: it follows from the events by the published rules, which this page does not apply again.',
  ],
] as const

const logEvents: BothLanguages<string> = {
  'log.began': ['O registro começa', 'The log begins'],
  'log.machinesAdded': [
    'Uma nova versão do averba trabalha com este registro',
    'A new version of averba works with this log',
  ],
  'log.resumed': ['O registro continua a partir de uma cópia', 'The log continues from a backup'],
  'log.moved': ['O registro continua em outro lugar', 'The log goes on elsewhere'],
  'log.arrived': ['O registro continua aqui', 'The log goes on here'],
}

export type LanguageWords = ReturnType<typeof getLanguageWords>

export function getLanguageWords(language: Language) {
  const isEnglish = language === 'en'
  return {
    events: isEnglish ? englishEvents : portugueseEvents,
    /** The text of an event of the log itself, or of a newer version. */
    otherEvent: (type: string) =>
      inLanguage(logEvents, language)[type] ?? (isEnglish ? `Another record (${type})` : `Outro registro (${type})`),
    kinds: inLanguage(kinds, language),
    sources: inLanguage(sources, language),
    services: inLanguage<string>(services, language),
    operations: inLanguage(operations, language),
    effectStates: inLanguage(effectStates, language),
    notificationStates: inLanguage(notificationStates, language),
    handlerStates: inLanguage(handlerStates, language),
    subscriptionStates: inLanguage(subscriptionStates, language),
    waitings: inLanguage(waitings, language),
    callEndings: inLanguage(callEndings, language),
    reasons: inLanguage(reasons, language),
    validationStates: inLanguage(validationStates, language),
    origins: inLanguage(origins, language),
    owners: inLanguage(owners, language),
    ...inLanguage(sentences, language),
    /** How long a kind of sealed data is kept: a number of days, or null for until it is settled. */
    retentionRule(kind: string, days: number | null) {
      const retained = isEnglish ? englishRetained : portugueseRetained
      const { untilSettled, day, days: several } = inLanguage(terms, language)
      const term = days === null ? untilSettled : `${days} ${days === 1 ? day : several}`
      return `${retained[kind] ?? kind}: ${term}`
    },
    unproven: unproven.map(([portuguese, english]) => (isEnglish ? english : portuguese)),
  }
}

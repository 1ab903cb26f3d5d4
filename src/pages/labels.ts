import type { PageFault } from '../proof/check-page.ts'
import type { Actor } from '../vocabulary/message.ts'
import { type Language, translateMessage } from './translate-message.ts'

export type { Language }

/** How to write a report: JSON (the default) or one HTML page; Brazilian Portuguese (the default) or English. */
export interface PageOptions {
  readonly format?: 'json' | 'html'
  readonly language?: Language
}

/** Texts by name, each in Portuguese and in English. */
export type BothLanguages<K extends string> = Readonly<Record<K, readonly [portuguese: string, english: string]>>

export function inLanguage<K extends string>(texts: BothLanguages<K>, language: Language): Readonly<Record<K, string>> {
  const pairs = Object.entries<readonly [string, string]>(texts)
  const picked = pairs.map(([name, [portuguese, english]]) => [name, language === 'en' ? english : portuguese] as const)
  // Foreign text that is looked up finds nothing of an object's own.
  return Object.assign(Object.create(null), Object.fromEntries(picked)) as Record<K, string> // The same names.
}

const labels = {
  none: ['não consta', 'not recorded'],
  subjectTitle: ['Relatório do titular de dados', 'Report to the data subject'],
  subjectLead: [
    'O que se guarda sobre você, desde quando, com que base, quem agiu e com quem foi compartilhado (LGPD, arts. 18 e 19).',
    'What is held about you, since when, on what basis, who acted, and with whom it was shared (LGPD, articles 18 and 19).',
  ],
  consentTitle: ['Este consentimento valia?', 'Was this consent valid?'],
  consentLead: [
    'A resposta, os eventos em que se apoia e a prova de que estão no registro (LGPD, art. 8º, § 2º).',
    'The answer, the events that it is based on, and the proof that they are in the log (LGPD, article 8, § 2).',
  ],
  processingTitle: ['Registro das operações de tratamento', 'Record of processing operations'],
  processingLead: [
    'Operações com dados pessoais no período, por finalidade e base legal (LGPD, art. 37).',
    'Operations with personal data in the period, by purpose and legal basis (LGPD, article 37).',
  ],
  log: ['Registro', 'Log'],
  upTo: ['Até a posição', 'Up to position'],
  asOf: ['Situação em', 'As of'],
  subject: ['Titular', 'Data subject'],
  cpf: ['CPF', 'CPF'],
  closed: ['não aberto para este relatório', 'not opened for this report'],
  since: ['Desde', 'Since'],
  last: ['Último', 'Last'],
  to: ['até', 'to'],
  origin: ['Origem', 'Origin'],
  erasure: ['Eliminação', 'Erasure'],
  erasedLead: [
    'Os dados pessoais deste titular foram eliminados. O que segue são os registros que restaram, sem os dados.',
    'The personal data of this person was erased. Below are the remaining records, without the data.',
  ],
  requester: ['A pedido de', 'Requested by'],
  erasedParts: ['Dados destruídos', 'Pieces destroyed'],
  cancelledCalls: ['Chamadas canceladas', 'Calls cancelled'],
  kept: ['Conservados por lei', 'Kept by law'],
  erasureCompleted: ['Concluída em', 'Completed at'],
  copiesOpenUntil: ['Cópias de segurança abrem até', 'Backups can be opened until'],
  whileKeyKept: [
    'A chave foi conservada: enquanto existir, as cópias abrem',
    'The key was kept: backups can be opened as long as it exists',
  ],
  epochsDestroyed: ['Nenhuma cópia abre desde', 'Backups can no longer be opened since'],
  held: ['O que se guarda', 'What is held'],
  heldNote: [
    'Os dados pessoais ficam lacrados: daqui constam a espécie e a data, e dos consentimentos a finalidade e o controlador. Peça à organização os próprios dados, se os quiser.',
    'Personal data is sealed: its kind and date are shown, and of consents the purpose and the controller. Ask the organisation for the data itself if you want it.',
  ],
  kind: ['Espécie', 'Kind'],
  source: ['Quem forneceu', 'Given by'],
  pieces: ['Guardados', 'Held'],
  gone: ['eliminados', 'destroyed'],
  bases: ['Com que finalidade e base legal', 'For what purpose, on what legal basis'],
  purpose: ['Finalidade', 'Purpose'],
  legalBasis: ['Base legal', 'Legal basis'],
  noBasis: ['sem finalidade declarada', 'no purpose stated'],
  count: ['Registros', 'Records'],
  actors: ['Quem agiu', 'Who acted'],
  actor: ['Quem', 'Who'],
  noActor: ['ninguém desta organização: fato externo', 'not by this organisation: an external fact'],
  told: ['Com quem foi compartilhado', 'With whom it was shared'],
  toldNote: [
    'Chamadas a serviços, com os dados que cada uma abre ao ser feita e o desfecho.',
    'Calls to services, with the data that each call opens and its outcome.',
  ],
  recipient: ['Destinatário', 'Recipient'],
  operation: ['Operação', 'Operation'],
  opened: ['Dados abertos', 'Data opened'],
  outcome: ['Desfecho', 'Outcome'],
  times: ['Vezes', 'Times'],
  consents: ['Consentimentos', 'Consents'],
  controller: ['Controlador (CNPJ)', 'Controller (CNPJ)'],
  summary: ['Em resumo', 'In short'],
  piecesHeld: ['Dados guardados', 'Data held'],
  sharedWith: ['Compartilhados com', 'Shared with'],
  contact: ['Contato', 'Contact'],
  noPurpose: ['Finalidade ainda não consultada', 'Purpose not read yet'],
  listedSince: ['Consta desde', 'Listed since'],
  data: ['Os seus dados', 'Your data'],
  technical: ['Registro técnico', 'Technical record'],
  events: ['eventos', 'events'],
  noUse: ['nenhum', 'none'],
  yes: ['sim', 'yes'],
  no: ['não', 'no'],
  status: ['Status', 'Status'],
  expires: ['Expira', 'Expires'],
  uses: ['Usos dos dados', 'Uses of the data'],
  allowed: ['permitido', 'allowed'],
  refused: ['recusado', 'refused'],
  reason: ['Motivo', 'Why'],
  when: ['Quando', 'When'],
  result: ['Resultado', 'Result'],
  validations: ['Validações', 'Validations'],
  identifier: ['Identificação', 'Id'],
  notifications: ['Notificações', 'Notifications'],
  handlers: ['Tratada por', 'Handled by'],
  copies: ['Cópias', 'Copies'],
  timeline: ['Linha do tempo', 'Timeline'],
  nothing: ['Nada consta.', 'None.'],
  routine: ['registros de rotina', 'routine records'],
  by: ['por', 'by'],
  position: ['posição', 'position'],
  with: ['com', 'with'],
  anomaly: ['Inesperado', 'Unexpected'],
  instant: ['Instante perguntado', 'Instant in question'],
  knownAt: ['Pelo que se sabia em', 'According to what was known at'],
  consent: ['Consentimento', 'Consent'],
  valid: ['Sim, valia', 'Yes, it was valid'],
  invalid: ['Não valia', 'It was not valid'],
  asThen: ['Pelo que se sabia então', 'According to what was known then'],
  asToday: ['Por tudo o que se sabe agora', 'According to all that is known now'],
  readAt: ['Última leitura do serviço', 'Last reading of the service'],
  restsOn: ['Em que a resposta se apoia', 'What the answer is based on'],
  later: ['O que se soube depois', 'What became known later'],
  proof: ['Prova', 'Proof'],
  noScript: [
    'A prova não foi conferida: este leitor não executa o programa da página.',
    'The proof was not checked: this reader does not run the script of the page.',
  ],
  unproven: ['O que esta prova não mostra', 'What this proof does not show'],
  bytes: ['Bytes do evento (a folha da árvore)', 'Bytes of the event (the leaf of the tree)'],
  key: ['Chave do registro', 'Key of the log'],
  checkpoint: ['Checkpoint assinado', 'Signed checkpoint'],
  recipients: ['Com quem se compartilha', 'Shared with'],
  categories: ['Categorias de dados', 'Categories of data'],
  subjects: ['Titulares', 'Data subjects'],
  retention: ['Conservação', 'Retention'],
  security: ['Segurança', 'Security'],
  period: ['Período', 'Period'],
  operations: ['Operações', 'Operations'],
  footer: [
    'Horários de Brasília. Este arquivo não carrega nem envia nada.',
    'Times in Brasilia. This file loads nothing and sends nothing.',
  ],
} as const

const scriptTexts = {
  checking: ['Conferindo a prova neste navegador…', 'Checking the proof in this browser…'],
  noCrypto: [
    'A prova não foi conferida: o navegador não oferece criptografia aqui. Abra o arquivo localmente ou por HTTPS.',
    'The proof was not checked: the browser offers no cryptography here. Open the file locally or over HTTPS.',
  ],
  right: ['A prova confere', 'The proof is valid'],
  partly: ['A prova confere em parte', 'The proof is valid in part'],
  wrong: ['A prova NÃO confere', 'The proof is NOT valid'],
  included: [
    'eventos conferidos: os bytes de cada um levam à raiz do checkpoint.',
    'events checked: the bytes of each lead to the root of the checkpoint.',
  ],
  shownRight: [
    'O texto de cada evento mostrado abaixo é o que foi conferido.',
    'The text of every event shown below is the one that was checked.',
  ],
  shownWrong: [
    'Um texto mostrado nesta página NÃO é o que está na prova: posição',
    'A text shown on this page is NOT the one in the proof: position',
  ],
  signatureRight: [
    'A assinatura Ed25519 do checkpoint confere com a chave desta página.',
    "The checkpoint's Ed25519 signature matches the key of this page.",
  ],
  signatureWrong: [
    'A assinatura do checkpoint NÃO confere com a chave desta página.',
    "The checkpoint's signature does NOT match the key of this page.",
  ],
  signatureUnsupported: [
    'A assinatura não foi conferida: este navegador não conhece Ed25519.',
    'The signature was not checked: this browser does not support Ed25519.',
  ],
} as const

const actorKinds: BothLanguages<Actor['kind']> = {
  subject: ['titular', 'data subject'],
  person: ['pessoa', 'person'],
  system: ['sistema', 'system'],
}

const faults: BothLanguages<PageFault> = {
  path: [
    'O evento não leva à raiz do checkpoint: posição',
    'The event does not lead to the root of the checkpoint: position',
  ],
  position: ['O evento indica uma posição diferente de', 'The event names a position other than'],
  checkpoint: ['O checkpoint não tem a forma certa.', 'The checkpoint does not have the right form.'],
}

const processingKinds = {
  collected: ['recebimento', 'collection'],
  shared: ['compartilhamento', 'sharing'],
  used: ['uso', 'use'],
  refused: ['uso recusado', 'refused use'],
} as const

const consentStatuses: BothLanguages<string> = {
  PENDENTE: ['pendente', 'pending'],
  ATIVO: ['ativo', 'active'],
  NEGADO: ['negado', 'denied'],
  REVOGADO: ['revogado', 'revoked'],
  EXPIRADO: ['expirado', 'expired'],
}

/** What else is known of a consent than its status. */
const knowledge: BothLanguages<string> = {
  changed: ['a confirmar', 'to be confirmed'],
  changing: ['mudança pedida', 'change requested'],
  uncertain: ['a confirmar', 'to be confirmed'],
  vanished: ['já não consta no serviço', 'no longer listed by the service'],
  erased: ['dados eliminados', 'data erased'],
}

/** What was done with personal data: received, sent to a service, used under a consent, or a use was refused. */
export type ProcessingKind = keyof typeof processingKinds

export type Labels = ReturnType<typeof labelsOf>

/** Returns the texts of the HTML pages in a language. */
export function labelsOf(language: Language) {
  return {
    ...inLanguage(labels, language),
    message: (english: string) => translateMessage(english, language),
    actorKinds: inLanguage(actorKinds, language),
    consentStatuses: inLanguage(consentStatuses, language),
    knowledge: inLanguage(knowledge, language),
    processingKinds: inLanguage(processingKinds, language),
    script: { ...inLanguage(scriptTexts, language), faults: inLanguage(faults, language) },
  }
}

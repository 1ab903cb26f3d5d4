import type { HealthCheck, Verdict, Views } from '../index.ts'
import { type BothLanguages, inLanguage, type Language } from '../pages/labels.ts'
import { services } from '../pages/words.ts'
import { type Texts, textsOf } from './texts.ts'

/** What a stream is about, by the name of its machine. */
const kinds = {
  budget: ['Orçamento de chamadas', 'Budget of calls'],
  certificate: ['Certificado', 'Certificate'],
  consent: ['Consentimento', 'Consent'],
  effect: ['Chamada', 'Call'],
  follower: ['Seguidor', 'Follower'],
  log: ['Registro', 'Log'],
  notification: ['Notificação', 'Notification'],
  portal: ['Portal de comércio exterior', 'Foreign-trade portal'],
  retention: ['Prazos de eliminação', 'Retention rules'],
  reveal: ['Dados revelados', 'Data revealed'],
  subject: ['Titular', 'Data subject'],
  subscription: ['Inscrição', 'Subscription'],
  token: ['Token', 'Token'],
  validation: ['Validação', 'Validation'],
} as const

const checks: BothLanguages<Exclude<HealthCheck['name'], keyof Texts> | 'times'> = {
  store: ['Arquivo ou servidor', 'File or server'],
  writing: ['Gravação', 'Writing'],
  keyring: ['Chaveiro', 'Keyring'],
  times: ['Horários', 'Times'],
  erasures: ['Eliminações', 'Erasures'],
  views: ['Visões', 'Views'],
  token: ['Token', 'Token'],
  receiver: ['Receptor', 'Receiver'],
  certificate: ['Certificado do serviço de consentimento', 'Certificate for the consent service'],
  portalCertificate: ['Certificado do portal', 'Certificate for the portal'],
  receiverCertificate: ['Certificado do receptor', 'Certificate of the receiver'],
  ...services,
  clock: ['Relógio', 'Clock'],
  configuration: ['Configuração', 'Configuration'],
  answers: ['Respostas', 'Answers'],
  ports: ['Portas', 'Ports'],
}

const levels: BothLanguages<Verdict['level']> = {
  broken: ['o registro se contradiz', 'the log contradicts itself'],
  'self-consistent': ['nada de fora do registro o confirma', 'nothing from outside of the log confirms it'],
  held: ['um checkpoint guardado fora do registro o confirma', 'a checkpoint kept outside of the log confirms it'],
  anchored: ['uma testemunha o confirma', 'a witness confirms it'],
}

/** Values of columns that have no words elsewhere. */
const values: BothLanguages<string> = {
  absent: ['não há', 'none'],
  delivered: ['entregue', 'delivered'],
  known: ['como o serviço mostra', 'as the service shows it'],
  locked: ['credenciais recusadas', 'credentials refused'],
  portal: ['o portal', 'the portal'],
  recovered: ['recuperada', 'recovered'],
  refused: ['mudança recusada', 'refused change'],
  rejected: ['recusado', 'rejected'],
  repeated: ['recusado de novo', 'rejected again'],
  requesting: ['sendo pedido', 'being requested'],
  stored: ['já guardada', 'stored before'],
  unreadable: ['resposta ilegível', 'unreadable answer'],
  us: ['nós', 'us'],
  valid: ['válido', 'valid'],
}

type ColumnIn<Row> = Row extends unknown ? keyof Row & string : never
type Column = ColumnIn<Views[keyof Views]>

/** What a page calls the columns of the views that neither a text nor a kind of the same name names. */
const columns: BothLanguages<Exclude<Column, keyof Texts | keyof typeof kinds> | 'awareness' | 'failures' | 'note'> = {
  again_by: ['Repetida por', 'Repeated by'],
  again_of: ['Repete', 'Repeats'],
  appeared_at: ['Consta desde', 'Listed since'],
  asked: ['Mudança pedida', 'Change requested'],
  asked_at: ['Pedida em', 'Requested at'],
  awaiting_since: ['À espera de leitura desde', 'Waits for a reading since'],
  awareness: ['Ciência de tratamento', 'Awareness record'],
  awareness_lists: ['Listas de ciências', 'Lists of awareness records'],
  body: ['Conteúdo', 'Content'],
  body_bytes: ['Bytes do conteúdo', 'Bytes of the content'],
  changed_at: ['Mudou em', 'Changed at'],
  charged: ['Foi cobrada', 'Was charged'],
  claims: ['Dados enviados', 'Data sent'],
  consent_lists: ['Listas de consentimentos', 'Lists of consents'],
  content: ['Conteúdo', 'Content'],
  created_at: ['Criado em', 'Created at'],
  deleted_at: ['Excluída em', 'Deleted at'],
  deleted_by: ['Excluída por', 'Deleted by'],
  described_at: ['Lido por completo em', 'Read in full at'],
  detail: ['Registro completo', 'Full record'],
  doubt: ['Em dúvida', 'In doubt'],
  end_asked_at: ['Fim pedido por último em', 'End last requested at'],
  end_wanted_at: ['Fim pedido desde', 'End wanted since'],
  ended_at: ['Terminou em', 'Ended at'],
  enrolled_at: ['Cadastrado em', 'Enrolled at'],
  erased_at: ['Eliminado em', 'Erased at'],
  evento_at_portal: ['Evento no portal', 'Event at the portal'],
  expires_at: ['Expira em', 'Expires at'],
  failed_at: ['Falhou em', 'Failed at'],
  failing_since: ['Com falhas desde', 'Failing since'],
  failure: ['Registro de falha', 'Failure record'],
  failures: ['Falhas', 'Failures'],
  former_id: ['Identificação anterior', 'Former id'],
  generation: ['Geração', 'Generation'],
  id: ['Identificação', 'Id'],
  is_authenticated: ['Com login', 'Logged in'],
  is_lost: ['A resposta se perdeu', 'The answer was lost'],
  lapses_at: ['Deixa de valer em', 'Lapses at'],
  last_failure_at: ['Última falha', 'Last failure'],
  last_success_at: ['Última entrega', 'Last delivery'],
  note: ['Anotação', 'Note'],
  overdue_at: ['Atrasado a partir de', 'Overdue from'],
  read_at: ['Lido em', 'Read at'],
  received_at: ['Recebida em', 'Received at'],
  recipient_kind: ['Destinatário', 'Recipient'],
  record: ['Registro do serviço', "Service's record"],
  recovery: ['Recuperação', 'Recovery'],
  registered_at: ['Registrada em', 'Registered at'],
  remote_id: ['Identificação no portal', 'Id at the portal'],
  requested_at: ['Pedida em', 'Requested at'],
  requests: ['Pedidos', 'Requests'],
  resolved_at: ['Apurada em', 'Resolved at'],
  reused_from: ['Resposta de', 'Answer of'],
  scope: ['Escopo', 'Scope'],
  secrets_are_ours: ['Com os nossos segredos', 'With our secrets'],
  sync_every_ms: ['Intervalo de leitura (ms)', 'Interval of readings (ms)'],
  synced_at: ['Lista lida em', 'List read at'],
  trouble: ['Problema', 'Trouble'],
  unreadable: ['Resposta ilegível', 'Unreadable answer'],
  vanished_at: ['Deixou de constar em', 'No longer listed since'],
  waits_until: ['Espera até', 'Waits until'],
}

export type Names = ReturnType<typeof namesOf>

/** What the pages call what has a name in the code: kinds of streams, checks, levels, and columns. */
export function namesOf(language: Language) {
  const texts = textsOf(language)
  const names: Readonly<Record<string, unknown>> = {
    ...texts,
    ...inLanguage(kinds, language),
    ...inLanguage(columns, language),
  }
  return {
    kinds: inLanguage<string>(kinds, language),
    checks: { ...texts, ...inLanguage(checks, language) },
    levels: inLanguage(levels, language),
    column: (name: string) => String(names[name] ?? name),
    values: inLanguage(values, language),
  }
}

import { z } from 'zod'

/** The tables of the consent service, field by field, with its names (document 1, section 2). */

/** The five statuses of a consent (section 3). */
export const statusSchema = z.enum(['ATIVO', 'NEGADO', 'REVOGADO', 'PENDENTE', 'EXPIRADO'])

const text = z.string()

/** The contract names the format. It is for the documents in docs/openapi: readers do not enforce it. */
const dateTime = text.meta({ format: 'date-time' })
const uri = text.meta({ format: 'uri' })

/** ConsentimentoResumido: a consent in a list, and the answer to a change. */
export const consentimentoResumidoSchema = z.object({
  id: text,
  status: statusSchema,
  dataHora: dateTime.describe('When it was created.'),
  dataExpiracao: dateTime.describe('When it expires.'),
  cnpjUsuario: text.nullable().describe('The CNPJ of the controller.'),
  href: uri.describe('The address of the full record.'),
})

export const metadadoSchema = z.object({
  identificador: text,
  descricao: text,
  rotulo: text.describe('Its label.'),
  sensivel: z.boolean().describe('Whether the item is sensitive.'),
})

export const categoriaSchema = z.object({
  identificador: text,
  descricao: text,
  rotulo: text.describe('Its label.'),
  metadados: z.array(metadadoSchema),
})

/** Finalidade: what the data is used for. */
export const finalidadeSchema = z.object({ identificador: text, descricao: text, rotulo: text })

/** Titular: the data subject. */
export const titularSchema = z.object({ cpf: text, nome: text.describe('The full name.'), email: text })

/** Responsavel: who answers for data protection at a controller. */
export const responsavelSchema = z.object({ cpf: text, cnpj: text, tipo: text })

/** UsuarioControlador: the controller. */
export const usuarioControladorSchema = z.object({
  cnpj: text,
  nome: text,
  email: text,
  contato: text,
  responsavel: responsavelSchema,
})

export const statusConsentimentoSchema = z.object({
  status: text,
  dataHora: dateTime.describe('When the status changed.'),
  dataExpiracao: dateTime,
})

/** ConsentimentoDetalhado: a consent in full. */
export const consentimentoDetalhadoSchema = z.object({
  id: text,
  idTemplatePdc: text.describe('The template that it was made from.'),
  status: statusSchema,
  dataHora: dateTime.describe('When it was created.'),
  dataExpiracao: dateTime.describe('When it expires.'),
  categoria: categoriaSchema,
  usuario: usuarioControladorSchema.nullable(),
  finalidade: finalidadeSchema.nullable(),
  titular: titularSchema,
  historico: z.array(statusConsentimentoSchema),
})

/** CienciaResumida: an awareness record in a list. */
export const cienciaResumidaSchema = z.object({
  id: text,
  dataHora: dateTime.describe('When it was created.'),
  cnpjUsuario: text.nullable().describe('The CNPJ of the controller.'),
  href: uri.describe('The address of the full record.'),
})

/** StatusTratamento: one entry of the history of processing. */
export const statusTratamentoSchema = z.object({
  info: text.describe('Further information.'),
  dataHora: dateTime.describe('When the entry was made.'),
  dataInicio: dateTime.describe('When the processing began.'),
  metadados: z.array(metadadoSchema),
})

export const detalheHipoteseSchema = z.object({
  envolveDadoSensivel: z.boolean().describe('Whether data that the law calls sensitive is involved.'),
  id: text,
  nome: text,
})

export const hipoteseSchema = z.object({ complemento: text, hipoteseTratamento: detalheHipoteseSchema })

/** CienciaDetalhada: an awareness record in full. */
export const cienciaDetalhadaSchema = z.object({
  id: text,
  dataHora: dateTime.describe('When it was created.'),
  titular: titularSchema,
  usuario: usuarioControladorSchema.nullable(),
  finalidade: finalidadeSchema.nullable(),
  historico: z.array(statusTratamentoSchema),
  hipoteses: z.array(hipoteseSchema),
})

/** TitularAutenticadoStatus: the login state of a data subject. */
export const titularAutenticadoStatusSchema = z.object({
  autenticado: z.boolean(),
  horaExpiracao: dateTime.describe('When the login ends.'),
})

/** TitularLoginUrl: the address of the national login. */
export const titularLoginUrlSchema = z.object({ url: text })

/** ProblemaDetalhado: the body of an error, as RFC 9457 has it (section 7). */
export const problemaDetalhadoSchema = z.object({
  type: uri,
  title: text.nullable(),
  status: z.int32().meta({ format: 'int32' }),
  detail: text.nullable(),
  instance: uri.nullable(),
  properties: z.record(z.string(), z.unknown()).nullable().describe('Members of any kind.'),
})

/** A consent in a list, and the answer to a change. */
export type ConsentimentoResumido = z.infer<typeof consentimentoResumidoSchema>
/** A consent in full. */
export type ConsentimentoDetalhado = z.infer<typeof consentimentoDetalhadoSchema>
/** An awareness record in a list. */
export type CienciaResumida = z.infer<typeof cienciaResumidaSchema>
/** An awareness record in full. */
export type CienciaDetalhada = z.infer<typeof cienciaDetalhadaSchema>
/** The login state of a data subject. */
export type TitularAutenticadoStatus = z.infer<typeof titularAutenticadoStatusSchema>
/** The address of the national login. */
export type TitularLoginUrl = z.infer<typeof titularLoginUrlSchema>

import { z } from 'zod'

/**
 * The tables of the consent service, field by field, as it spells them (document 1, section 2).
 */

/** The five statuses of a consent (section 3). */
export const statusSchema = z.enum(['ATIVO', 'NEGADO', 'REVOGADO', 'PENDENTE', 'EXPIRADO'])

const text = z.string()

/** ConsentimentoResumido: a consent in a list, and the answer to a change. */
export const consentimentoResumidoSchema = z.object({
  id: text,
  status: statusSchema,
  dataHora: text,
  dataExpiracao: text,
  cnpjUsuario: text.nullable(),
  href: text,
})

const metadadoSchema = z.object({ identificador: text, descricao: text, rotulo: text, sensivel: z.boolean() })

const categoriaSchema = z.object({
  identificador: text,
  descricao: text,
  rotulo: text,
  metadados: z.array(metadadoSchema),
})

const finalidadeSchema = z.object({ identificador: text, descricao: text, rotulo: text })

const titularSchema = z.object({ cpf: text, nome: text, email: text })

const usuarioControladorSchema = z.object({
  cnpj: text,
  nome: text,
  email: text,
  contato: text,
  responsavel: z.object({ cpf: text, cnpj: text, tipo: text }),
})

const statusConsentimentoSchema = z.object({ status: text, dataHora: text, dataExpiracao: text })

/** ConsentimentoDetalhado: a consent in full. */
export const consentimentoDetalhadoSchema = z.object({
  id: text,
  idTemplatePdc: text,
  status: statusSchema,
  dataHora: text,
  dataExpiracao: text,
  categoria: categoriaSchema,
  usuario: usuarioControladorSchema.nullable(),
  finalidade: finalidadeSchema.nullable(),
  titular: titularSchema,
  historico: z.array(statusConsentimentoSchema),
})

/** CienciaResumida: an awareness record in a list. */
export const cienciaResumidaSchema = z.object({
  id: text,
  dataHora: text,
  cnpjUsuario: text.nullable(),
  href: text,
})

const statusTratamentoSchema = z.object({
  info: text,
  dataHora: text,
  dataInicio: text,
  metadados: z.array(metadadoSchema),
})

const hipoteseSchema = z.object({
  complemento: text,
  hipoteseTratamento: z.object({ envolveDadoSensivel: z.boolean(), id: text, nome: text }),
})

/** CienciaDetalhada: an awareness record in full. */
export const cienciaDetalhadaSchema = z.object({
  id: text,
  dataHora: text,
  titular: titularSchema,
  usuario: usuarioControladorSchema.nullable(),
  finalidade: finalidadeSchema.nullable(),
  historico: z.array(statusTratamentoSchema),
  hipoteses: z.array(hipoteseSchema),
})

/** TitularAutenticadoStatus: the login state of a data subject. */
export const titularAutenticadoStatusSchema = z.object({ autenticado: z.boolean(), horaExpiracao: text })

/** TitularLoginUrl: the address of the national login. */
export const titularLoginUrlSchema = z.object({ url: text })

export type ConsentimentoResumido = z.infer<typeof consentimentoResumidoSchema>
export type ConsentimentoDetalhado = z.infer<typeof consentimentoDetalhadoSchema>
export type CienciaResumida = z.infer<typeof cienciaResumidaSchema>
export type CienciaDetalhada = z.infer<typeof cienciaDetalhadaSchema>
export type TitularAutenticadoStatus = z.infer<typeof titularAutenticadoStatusSchema>
export type TitularLoginUrl = z.infer<typeof titularLoginUrlSchema>

import { z } from 'zod'

/** The tables of the webhook portal, field by field, as it spells them (document 3, sections 2, 6 and 8). */

/** The lengths that the contract gives (section 8). */
export const limits = {
  evento: 40,
  endpoint: 500,
  chave: 100,
  motivoExclusao: 200,
  processingMs: 3_500,
  deletionDays: 30,
  failureDays: 30,
} as const

/** The ranges that notifications come from (section 6). */
export const sourceRanges = ['161.148.0.0/16', '189.9.0.0/16', '200.198.192.0/18'] as const

const id = z.int().nonnegative().max(9_999_999_999)
const chave = z.string().max(limits.chave)

/** The body of Subscribe. */
export const subscribeRequestSchema = z.object({
  evento: z.string().min(1).max(limits.evento),
  endpoint: z.string().min(1).max(limits.endpoint),
  chaveSecreta: chave.optional(),
  chaveAutenticacao: chave.optional(),
})

/** The body of Change. */
export const changeRequestSchema = subscribeRequestSchema.extend({ id })

/** The answer to Subscribe. */
export const assinaturaSchema = z.object({
  id,
  evento: z.string(),
  endpoint: z.string(),
  chaveSecreta: z.string().nullish(),
  chaveAutenticacao: z.string().nullish(),
})

/** A subscription in a list. */
export const assinaturaListadaSchema = assinaturaSchema.extend({
  dataRegistro: z.string().nullish(),
  dataExclusao: z.string().nullish(),
  motivoExclusao: z.string().nullish(),
  dataUltimoSucesso: z.string().nullish(),
})

/** A failure record. */
export const falhaSchema = z.object({
  id,
  data: z.string(),
  descricao: z.string(),
  evento: z.string(),
  conteudo: z.string(),
})

/** The kinds of recipient (section 6). */
export const recipientKinds = ['CPF', 'CNPJ', 'ORGAO'] as const

export type Assinatura = z.infer<typeof assinaturaSchema>
export type AssinaturaListada = z.infer<typeof assinaturaListadaSchema>
export type Falha = z.infer<typeof falhaSchema>
export type RecipientKind = (typeof recipientKinds)[number]

import { z } from 'zod'

/** The tables of the webhook portal, field by field, with its names (document 3, sections 2, 6 and 8). */

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

/** Counts the characters of a text as the contract's limits and JSON Schema do: a letter outside the BMP is one. */
export function charactersIn(text: string): number {
  return [...text].length
}

export function textOf(min: number, max: number): z.ZodType<string, string> {
  const isWithin = (value: string) => charactersIn(value) >= min && charactersIn(value) <= max
  return z
    .string()
    .refine(isWithin)
    .meta({ ...(min > 0 && { minLength: min }), maxLength: max })
}

const id = z.int().nonnegative().max(9_999_999_999)
/** Null as in a list: a listed row can be sent back. */
const chave = textOf(0, limits.chave).nullish()

export const subscribeRequestSchema = z.object({
  evento: textOf(1, limits.evento),
  endpoint: textOf(1, limits.endpoint),
  chaveSecreta: chave,
  chaveAutenticacao: chave,
})

export const changeRequestSchema = subscribeRequestSchema.extend({ id })

export const deleteRequestSchema = z.object({ id })

/** Texts of answers. The format is for the documents in docs/openapi: readers do not enforce it. */
const text = (maxLength: number) => z.string().meta({ maxLength })
const time = z.string().meta({ pattern: '^\\d{2}-\\d{2}-\\d{4} \\d{2}:\\d{2}:\\d{2}$' })

/** The answer to Change: no secrets. */
export const assinaturaAlteradaSchema = z.object({ id, evento: text(limits.evento), endpoint: text(limits.endpoint) })

/** The answer to Subscribe. */
export const assinaturaSchema = assinaturaAlteradaSchema.extend({
  chaveSecreta: text(limits.chave).nullish(),
  chaveAutenticacao: text(limits.chave).nullish(),
})

/** A subscription in a list. */
export const assinaturaListadaSchema = assinaturaSchema.extend({
  dataRegistro: time.nullish().describe('When it was registered.'),
  dataExclusao: time.nullish().describe('When it was deleted.'),
  motivoExclusao: text(limits.motivoExclusao).nullish().describe('Why it was deleted.'),
  dataUltimoSucesso: time.nullish().describe('When a notification was last answered with success.'),
})

/** A failure record. */
export const falhaSchema = z.object({
  id,
  data: time.describe('When it failed, in Brasilia.'),
  descricao: z.string().describe('What went wrong.'),
  evento: text(limits.evento),
  conteudo: z.string().describe('What was sent to the endpoint.'),
})

/** The kinds of recipient (section 6). */
export const recipientKinds = ['CPF', 'CNPJ', 'ORGAO'] as const

/** The format of `destinatario-id` for each kind (section 6). That of a public body is not shown. */
export const recipientIdForms: Readonly<Record<RecipientKind, RegExp>> = {
  CPF: /^\d{11}$/,
  CNPJ: /^[0-9A-Z]{12}\d{2}$/,
  ORGAO: /^[\x21-\x7e]{1,40}$/,
}

/** The answer to Subscribe. */
export type Assinatura = z.infer<typeof assinaturaSchema>
/** A subscription in a list. */
export type AssinaturaListada = z.infer<typeof assinaturaListadaSchema>
/** A failure record. */
export type Falha = z.infer<typeof falhaSchema>
/** A kind of recipient: `CPF`, `CNPJ` or `ORGAO`. */
export type RecipientKind = (typeof recipientKinds)[number]

import { z } from 'zod'

/** The tables of the validation operation, field by field, as it spells them (document 2, section 2). */

const text = z
  .string()
  .max(500)
  .refine(value => value.isWellFormed())
  .optional()
const day = z.iso.date()
const date = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/)
  .refine(value => day.safeParse(value).success)
  .meta({ format: 'date' })
  .optional()

/** What is claimed of a person. Which fields are required, and their domains, are not shown. */
export const claimsSchema = z.strictObject({
  nome: text,
  sexo: text,
  nacionalidade: z.int().optional(),
  filiacao: z.strictObject({ nome_mae: text, nome_pai: text }).optional(),
  documento: z
    .strictObject({ tipo: z.int().optional(), numero: text, orgao_expedidor: text, uf_expedidor: text })
    .optional(),
  endereco: z
    .strictObject({
      logradouro: text,
      numero: text,
      complemento: text,
      bairro: text,
      cep: text,
      municipio: text,
      uf: text,
    })
    .optional(),
  cnh: z
    .strictObject({
      categoria: text,
      numero_registro: text,
      data_primeira_habilitacao: date,
      data_validade: date,
      registro_nacional_estrangeiro: text,
      data_ultima_emissao: date,
      codigo_situacao: text,
    })
    .optional(),
  data_nascimento: date,
  situacao_cpf: text,
})

export const validationRequestSchema = z.strictObject({
  key: z.strictObject({ cpf: z.string().optional() }).optional(),
  answer: claimsSchema.optional(),
})

const match = z.boolean().optional()
const similarity = z.number().optional()

/** What the operation answers: whether each claimed value matches, and how alike some are. */
export const validationResponseSchema = z.object({
  nome: match,
  nome_similaridade: similarity,
  sexo: match,
  nacionalidade: match,
  situacao_cpf: match,
  cpf_disponivel: match,
  filiacao: z
    .object({ nome_mae: match, nome_mae_similaridade: similarity, nome_pai: match, nome_pai_similaridade: similarity })
    .optional(),
  cnh: z
    .object({
      nome: match,
      nome_similaridade: similarity,
      categoria: match,
      numero_registro: match,
      data_primeira_habilitacao: match,
      data_validade: match,
      registro_nacional_estrangeiro: match,
      data_ultima_emissao: match,
    })
    .optional(),
  documento: z
    .object({
      tipo: match,
      numero: match,
      numero_similaridade: similarity,
      orgao_expedidor: match,
      uf_expedidor: match,
    })
    .optional(),
  endereco: z
    .object({
      logradouro: match,
      logradouro_similaridade: similarity,
      numero: match,
      numero_similaridade: similarity,
      bairro: match,
      bairro_similaridade: similarity,
      cep: match,
      uf: match,
    })
    .optional(),
})

/** What is claimed of a person, by field. */
export type Claims = z.infer<typeof claimsSchema>
/** The answer of a validation: whether each claimed value matches, and how alike some are. */
export type ValidationResponse = z.infer<typeof validationResponseSchema>

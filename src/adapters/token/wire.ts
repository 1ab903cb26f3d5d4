import { z } from 'zod'

/** The answer of the token endpoint (document 2, section 2). `expires_in` is the remaining lifetime. */
export const tokenResponseSchema = z.object({
  access_token: z.string(),
  token_type: z.string(),
  scope: z.string(),
  expires_in: z.int(),
})

export type TokenResponse = z.infer<typeof tokenResponseSchema>

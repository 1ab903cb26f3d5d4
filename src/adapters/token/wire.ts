import { z } from 'zod'

/** The form of a token request (document 2, section 4.1). */
export const tokenRequestSchema = z.object({ grant_type: z.literal('client_credentials') })

/** The answer of the token endpoint (document 2, section 2). `expires_in` is the remaining lifetime. */
export const tokenResponseSchema = z.object({
  access_token: z.string(),
  token_type: z.string().describe('Bearer'),
  scope: z.string().describe('Names of scopes, with spaces between them.'),
  expires_in: z.int().describe('How long the token still lives.'),
})

/** The answer of the token endpoint. */
export type TokenResponse = z.infer<typeof tokenResponseSchema>

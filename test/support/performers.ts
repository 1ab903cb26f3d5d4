import { createConsentClient } from '../../src/adapters/consent/client.ts'
import { staticHeaders } from '../../src/adapters/portal/authentication.ts'
import { createPortalClient, type PortalClientOptions } from '../../src/adapters/portal/client.ts'
import { createTokenClient, type TokenClientOptions, type TokenKeeper } from '../../src/adapters/token/client.ts'
import { createValidationClient, type ValidationClientOptions } from '../../src/adapters/validation/client.ts'
import { hostToken } from '../../src/api/validations/tokens.ts'
import { samples, VirtualClock } from '../../src/simulation/index.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { AttemptOutcome, Json } from '../../src/vocabulary/message.ts'
import type { Performers } from '../../src/vocabulary/performer.ts'

const noKeeper: TokenKeeper = {
  stream: 'token-default',
  find: async () => undefined,
  keep: async () => undefined,
  drop: async () => undefined,
  nameCredential: () => ({ contract: 'c1', credential: 'k1' }),
}

/** What a test needs otherwise than by default. */
interface Given {
  readonly consentUrl?: string
  readonly token?: Partial<TokenClientOptions>
  readonly validation?: Partial<ValidationClientOptions>
  readonly portal?: Partial<PortalClientOptions>
}

/** Creates the performers of all services, which send with one `fetch`. */
export function createPerformers(fetch: Fetch, { consentUrl, token, validation, portal }: Given = {}): Performers {
  const common = { fetch, clock: new VirtualClock() }
  const gateway = { url: 'https://gateway.exemplo.br/token', consumerKey: 'chave', consumerSecret: 's%+:' }
  const service = { baseUrl: 'https://validacao.exemplo.br', service: 'demo', tokens: hostToken('t') }
  const authenticate = staticHeaders({ authorization: 'sessao' })
  const webhooks = { baseUrl: 'https://portal.exemplo.br', authenticate, secretsOf: async () => ({}) }
  return {
    ...createConsentClient({ baseUrl: consentUrl ?? 'https://consentimento.exemplo.br', ...common }),
    ...createTokenClient({ ...common, ...gateway, keeper: noKeeper, ...token }),
    ...createValidationClient({ ...common, ...service, ...validation }),
    ...createPortalClient({ ...common, ...webhooks, ...portal }),
  }
}

/** The data and the parts that are enough for every operation. */
const anyData = { status: 'ATIVO', validation: 'p1', day: null }
const anyParts = { cpf: samples.cpf, id: 'a', record: { id: 'a' }, claims: {} }

/** Makes one attempt at an operation, as the engine does. */
export async function performOnce(
  performers: Performers,
  type: string,
  { data = anyData, parts = anyParts }: { data?: Json; parts?: Readonly<Record<string, Json>> } = {},
): Promise<AttemptOutcome> {
  const performer = performers[type]
  if (!performer) throw new TypeError(`There is no performer of ${type}`)
  const place = { id: 's/1/1', stream: 's', position: 1, dueAt: '2026-11-20T12:00:00.000Z' } as const
  return performer.perform({ ...place, type, data, state: 'pending', attempts: 0, reason: '' }, parts)
}

import type { ServiceOptions } from '../policies.ts'

const lifetimeMs = 60 * 60_000
const loginPauseMs = 60_000

/**
 * The portal's publicly known login; the contract shows none. The client sends the login token back unchanged, and a
 * second token that changes with every answer and is valid for an hour. A second login within a minute is refused.
 * Whether an older second token of that hour is still valid is unknown, so it is a policy.
 */
export function createSession(
  { clock, entropy, memory }: Pick<ServiceOptions<never>, 'clock' | 'entropy' | 'memory'>,
  olderTokens: 'accept' | 'refuse',
) {
  const known = memory.keep('session', { token: '', loggedInAt: 0 })
  /** Second tokens with the end of their validity. */
  const csrf = memory.keep('secondTokens', new Map<string, number>())
  const random = () => Buffer.from(entropy.bytes(16)).toString('hex')
  const renew = () => {
    const fresh = random()
    if (olderTokens === 'refuse') csrf.clear()
    csrf.set(fresh, clock.now() + lifetimeMs)
    return { 'x-csrf-token': fresh, 'x-csrf-expiration': String(clock.now() + lifetimeMs) }
  }
  const session = {
    logins: 0,
    /** Answers `POST /portal/api/autenticar`. */
    logIn({ headers: given }: Request): Response {
      if (!given.has('role-type')) return loginError('PUCX-ER0101', 'Perfil não informado')
      if (clock.now() - known.loggedInAt < loginPauseMs)
        return loginError('PLAT-ER2033', 'Usuário autenticado com sucesso nos últimos 60 segundos')
      session.logins += 1
      known.loggedInAt = clock.now()
      known.token = `Bearer ${random()}`
      const headers = { 'set-token': known.token, ...renew() }
      return Response.json({ token: headers['x-csrf-token'] }, { headers })
    },
    /** Answers `POST /portal/api/autenticar/chave-acesso`: any key is accepted. */
    logInWithKeys(request: Request): Response {
      const hasKeys = request.headers.has('client-id') && request.headers.has('client-secret')
      return hasKeys ? session.logIn(request) : loginError('PLAT-ER8008', 'Falha na autenticação por chave')
    },
    /** Ends the session, as a restart of the portal would. */
    end() {
      known.token = ''
      csrf.clear()
    },
    isKnown(headers: Headers): boolean {
      const endsAt = csrf.get(headers.get('x-csrf-token') ?? '') ?? 0
      return known.token !== '' && headers.get('authorization') === known.token && endsAt > clock.now()
    },
    /** Copies a response, with the headers of a new second token. */
    withFreshToken(response: Response): Response {
      const copy = new Response(response.body, response)
      for (const [name, value] of Object.entries(renew())) copy.headers.set(name, value)
      return copy
    },
  }
  return session
}

function loginError(code: string, message: string): Response {
  return Response.json({ status: 422, code, message, tag: code }, { status: 422 })
}

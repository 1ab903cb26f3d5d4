import type { Clock } from '../../../runtime/clock.ts'
import type { Entropy } from '../../../runtime/entropy.ts'

const lifetimeMs = 60 * 60_000
const loginPauseMs = 60_000

/**
 * The portal's publicly known login; the contract shows none. The client sends the login token back unchanged, and a
 * second token that changes with every answer and is valid for an hour. A second login within a minute is refused.
 * Whether an older second token of that hour is still valid is unknown, so it is a policy.
 */
export class SimulatedSession {
  readonly #clock: Clock
  readonly #entropy: Entropy
  #token = ''
  readonly #olderTokens: 'accept' | 'refuse'
  /** Second tokens with the end of their validity. */
  readonly #csrf = new Map<string, number>()
  #loggedInAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, entropy: Entropy, olderTokens: 'accept' | 'refuse') {
    this.#olderTokens = olderTokens
    this.#clock = clock
    this.#entropy = entropy
  }

  logins = 0

  /** Answers `POST /portal/api/autenticar/chave-acesso`: any key is accepted. */
  logInWithKeys(request: Request): Response {
    const hasKeys = request.headers.has('client-id') && request.headers.has('client-secret')
    return hasKeys ? this.logIn(request) : loginError(422, 'PLAT-ER8008', 'Falha na autenticação por chave')
  }

  /** Ends the session, as a restart of the portal would. */
  end(): void {
    this.#token = ''
    this.#csrf.clear()
  }

  /** Answers `POST /portal/api/autenticar`. */
  logIn(request: Request): Response {
    if (!request.headers.has('role-type')) return loginError(422, 'PUCX-ER0101', 'Perfil não informado')
    if (this.#clock.now() - this.#loggedInAt < loginPauseMs) {
      return loginError(422, 'PLAT-ER2033', 'Usuário autenticado com sucesso nos últimos 60 segundos')
    }
    this.logins += 1
    this.#loggedInAt = this.#clock.now()
    this.#token = `Bearer ${this.#random()}`
    const headers = { 'set-token': this.#token, ...this.#renew() }
    return Response.json({ token: headers['x-csrf-token'] }, { headers })
  }

  isKnown(headers: Headers): boolean {
    const endsAt = this.#csrf.get(headers.get('x-csrf-token') ?? '') ?? 0
    return this.#token !== '' && headers.get('authorization') === this.#token && endsAt > this.#clock.now()
  }

  /** Sets the headers of a new second token on a response. */
  withFreshToken(response: Response): Response {
    for (const [name, value] of Object.entries(this.#renew())) response.headers.set(name, value)
    return response
  }

  #renew(): { 'x-csrf-token': string; 'x-csrf-expiration': string } {
    const token = this.#random()
    if (this.#olderTokens === 'refuse') this.#csrf.clear()
    const endsAt = this.#clock.now() + lifetimeMs
    this.#csrf.set(token, endsAt)
    return { 'x-csrf-token': token, 'x-csrf-expiration': String(endsAt) }
  }

  #random(): string {
    return Buffer.from(this.#entropy.bytes(16)).toString('hex')
  }
}

function loginError(status: number, code: string, message: string): Response {
  return Response.json({ status, code, message, tag: code }, { status })
}

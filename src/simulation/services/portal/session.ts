import type { Clock } from '../../../runtime/clock.ts'
import type { Entropy } from '../../../runtime/entropy.ts'

const lifetimeMs = 60 * 60_000
const quietMs = 60_000

/**
 * The portal's login as it is publicly known, not as the contract shows it: a token that is sent back as it came,
 * a second one that changes with every answer and lives an hour, and no second login within a minute. Whether an older
 * one of that hour still counts is not known.
 */
export class SimulatedSession {
  readonly #clock: Clock
  readonly #entropy: Entropy
  #token = ''
  readonly #olderTokens: 'accept' | 'refuse'
  /** Tokens that are at most an hour old. */
  readonly #csrf = new Map<string, number>()
  #loggedInAt = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, entropy: Entropy, olderTokens: 'accept' | 'refuse') {
    this.#olderTokens = olderTokens
    this.#clock = clock
    this.#entropy = entropy
  }

  /** How many logins there were. */
  logins = 0

  /** Answers `POST /portal/api/autenticar/chave-acesso`: any key is accepted. */
  logInWithKeys(request: Request): Response {
    const isGiven = request.headers.has('client-id') && request.headers.has('client-secret')
    return isGiven ? this.logIn(request) : refusal(422, 'PLAT-ER8008', 'Falha na autenticação por chave')
  }

  /** Ends the session, as a restart of the portal would. */
  end(): void {
    this.#token = ''
    this.#csrf.clear()
  }

  /** Answers `POST /portal/api/autenticar`. */
  logIn(request: Request): Response {
    if (!request.headers.has('role-type')) return refusal(422, 'PUCX-ER0101', 'Perfil não informado')
    if (this.#clock.now() - this.#loggedInAt < quietMs) {
      return refusal(422, 'PLAT-ER2033', 'Usuário autenticado com sucesso nos últimos 60 segundos')
    }
    this.logins += 1
    this.#loggedInAt = this.#clock.now()
    this.#token = `Bearer ${this.#random()}`
    const headers = { 'set-token': this.#token, ...this.#renew() }
    return Response.json({ token: headers['x-csrf-token'] }, { headers })
  }

  /** Reports whether a request carries what the login gave. */
  isKnown(headers: Headers): boolean {
    const endsAt = this.#csrf.get(headers.get('x-csrf-token') ?? '') ?? 0
    return this.#token !== '' && headers.get('authorization') === this.#token && endsAt > this.#clock.now()
  }

  /** Headers with a token that lives an hour from now. */
  renewed(response: Response): Response {
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

function refusal(status: number, code: string, message: string): Response {
  return Response.json({ status, code, message, tag: code }, { status })
}

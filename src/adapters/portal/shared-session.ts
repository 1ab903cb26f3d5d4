import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { clearCode } from '../../vocabulary/problem.ts'
import {
  type Exchange,
  type ExchangeOptions,
  exchange,
  type HttpAnswer,
  isRefusal,
  unwritable,
} from '../http/exchange.ts'
import { readProblem } from '../http/problem.ts'
import type { Authenticated, AuthenticatedCall, NoSession } from './authentication.ts'
import type { ClosedTimes } from './closed-times.ts'
import type { PortalLogin } from './login.ts'
import { type SharedText, shareInMemory } from './shared-text.ts'

/** What the processes of one store share of the logins of a profile, whoever logs in, and who may do it now. */
export interface LoginShare extends SharedText {
  /** Takes the right to log in. False while another process has it. */
  take(): Promise<boolean>
  release(): Promise<void>
  /** Tells one who logs in from another, in a text from which nobody guesses who it is. */
  digestOf(identity: string): string
}

/** What is known of the session. */
interface Session {
  /** The token, sent back as it came; empty while there is none. */
  readonly authorization: string
  /** The second token: every answer brings a new one. */
  readonly csrf: string
  readonly endsAt: Instant
  /** Counts the logins: what an earlier one brought never replaces a later one's, whatever the clocks say. */
  readonly login: number
}

/** What is known of the logins. */
interface LoginRecord {
  /** When somebody asked for a login last, and why nobody does for a minute after it. */
  readonly askedAt: Instant
  readonly reason: string
  /** The digest of who asked: what the portal said of one is told to no other. */
  readonly whose: string
}

/** Publicly known: within a minute of a login the portal refuses another. One second more, for its clock. */
const quietMs = 61_000
const quiet = 'the portal lets nobody log in twice within a minute'
/** Publicly known: the second token lives an hour from the last answer. Five minutes less, for the way. */
const lifetimeMs = 55 * 60_000
const leaseLookMs = 250
const leaseLooksMax = 40
/** How often a session is renewed for one call: a login, and one newer answer of another process. */
const renewalsMax = 2

const none: Session = {
  authorization: '',
  csrf: '',
  endsAt: toInstant(0),
  login: 0,
}

const neverAsked: LoginRecord = { askedAt: toInstant(0), reason: '', whose: '' }

interface SharedSessionOptions extends ExchangeOptions {
  readonly baseUrl: string
  readonly login: PortalLogin
  /** What is shared of the session of one who logs in. */
  readonly shareOf: (identity: string) => SharedText
  readonly logins: LoginShare
  readonly times: ClosedTimes
}

/** The name of the login among the operations that the portal may have closed. */
const operation = 'autenticar'

/**
 * One session at the portal for all processes of a store that log in as the same person, and one call after the other.
 * One login at a time, and one a minute, whoever logs in: an identity that changes by itself would log in at each call.
 */
export class SharedSession implements Authenticated {
  readonly #options: SharedSessionOptions
  /** The share of who logs in now, looked up for each call: the keys or the certificate may have been replaced. */
  #share: SharedText = shareInMemory()
  /** The digest of who logs in now. */
  #whose = ''
  #turn: Promise<unknown> = Promise.resolve()
  /** The session that the call whose turn it is logged in for. */
  #begun: Session | undefined

  constructor(options: SharedSessionOptions) {
    this.#options = options
  }

  /** Each answer changes the second token: calls of this process wait for one another. */
  send(call: AuthenticatedCall): Promise<Exchange | NoSession> {
    const sent = this.#turn.then(() => this.#send(call))
    this.#turn = sent.catch(() => undefined)
    return sent
  }

  async #send(call: AuthenticatedCall): Promise<Exchange | NoSession> {
    this.#begun = undefined
    const { login, logins, shareOf } = this.#options
    const identity = await login.identity()
    this.#share = shareOf(identity)
    this.#whose = logins.digestOf(identity)
    let session = await this.#current(undefined)
    for (let renewals = 0; ; renewals++) {
      if ('status' in session) return session
      const { authorization, csrf } = session
      const result = await call({ authorization, 'x-csrf-token': csrf })
      if (result.status !== 'answered') return result
      const { answer } = result
      if (!isRejection(answer)) {
        await this.#keepIfPossible(session, answer)
        return result
      }
      const isNo =
        renewals === renewalsMax || (session === this.#begun && (await this.#isOver(session, answer)))
      if (isNo) return result
      session = await this.#current(session)
    }
  }

  /**
   * Whether the portal rejects a session that was begun for this very call, and nobody else's answer has renewed it
   * meanwhile: then the next one would fare no better, and the answer counts. Others hear why within the minute.
   */
  async #isOver(session: Session, answer: HttpAnswer): Promise<boolean> {
    const reason = `the portal rejects a session that has just begun: ${answerIn(answer)}`
    let isOver = true
    await this.#share.change(async text => {
      isOver = !this.#isUsable(kept(text, none), session)
      return isOver ? JSON.stringify({ ...none, login: session.login }) : undefined
    })
    if (isOver) {
      await this.#options.logins.change(async text => {
        const asked = kept(text, neverAsked)
        return asked.whose === this.#whose ? JSON.stringify({ ...asked, reason }) : undefined
      })
    }
    return isOver
  }

  /** The session as any process knows it, unless it was rejected; else a login. */
  async #current(rejected: Session | undefined): Promise<Session | NoSession> {
    const known = await this.#find()
    return this.#isUsable(known, rejected) ? known : this.#logInAlone(rejected)
  }

  #isUsable(session: Session, rejected: Session | undefined): boolean {
    if (session.authorization === '' || fromInstant(session.endsAt) <= this.#options.clock.now()) return false
    return session.csrf !== rejected?.csrf || session.authorization !== rejected.authorization
  }

  async #logInAlone(rejected: Session | undefined): Promise<Session | NoSession> {
    const { clock, logins } = this.#options
    for (let looks = 0; looks < leaseLooksMax; looks++) {
      const barred = await this.#findBar()
      if (barred) {
        const session = await this.#find() // What bars may be the login that just brought one.
        return this.#isUsable(session, rejected) ? session : barred
      }
      if (await logins.take()) return this.#logInLeased(rejected)
      await clock.sleep(leaseLookMs, undefined, 'a look at the login of another process')
      const session = await this.#find()
      if (this.#isUsable(session, rejected)) return session
    }
    return { status: 'deferred', reason: 'another process is logging in at the portal', afterMs: 5_000 }
  }

  async #logInLeased(rejected: Session | undefined): Promise<Session | NoSession> {
    try {
      const known = await this.#find() // Somebody may have just done it.
      if (this.#isUsable(known, rejected)) return known
      return (await this.#findBar()) ?? (await this.#logIn(known))
    } finally {
      await this.#options.logins.release()
    }
  }

  /**
   * A minute after somebody asked for a login, nothing is asked, and only who asked hears what came of it: to another
   * one, such as keys that were put right, it would be wrong. What lies ahead, another clock says or one that was
   * put right since: it holds nobody off, or it would for as long as that clock was ahead.
   */
  async #findBar(): Promise<NoSession | undefined> {
    const { askedAt, reason, whose } = kept(await this.#options.logins.find(), neverAsked)
    const agoMs = this.#options.clock.now() - fromInstant(askedAt)
    const isQuiet = agoMs >= 0 && agoMs < quietMs
    if (!isQuiet) return undefined
    return { status: 'deferred', reason: whose === this.#whose ? reason : quiet, afterMs: quietMs - agoMs }
  }

  async #logIn(known: Session): Promise<Session | NoSession> {
    const { baseUrl, login: how, times } = this.#options
    const closed = await times.before(operation)
    if (closed) return closed
    const request = await written(how, baseUrl)
    const result = await exchange(this.#options, 'once', () => request.clone())
    if (result.status === 'unsent') return { status: 'deferred', reason: result.reason }
    // The login may have succeeded, with tokens that nobody has.
    if (result.status === 'lost') return this.#bar(known, result.reason)
    const { answer } = result
    const authorization = answer.headers.get('set-token')
    if (answer.status < 300 && authorization !== null) {
      const [login, endsAt] = [known.login + 1, this.#lifeFromNow()]
      const begun = { ...none, authorization, endsAt, login }
      this.#begun = await this.#keepNewest(begun, answer)
      await this.#keepAsked(quiet)
      return this.#begun
    }
    const { reason, afterMs } = (await times.after(operation, answer)) ?? { reason: refusalIn(answer) }
    return this.#bar(known, reason, afterMs)
  }

  /** Only a time in which the portal is closed bars logins for longer than a minute. */
  async #bar({ login }: Session, reason: string, afterMs = quietMs): Promise<NoSession> {
    await this.#keepAsked(reason)
    await this.#share.change(async () => JSON.stringify({ ...none, login }))
    return { status: 'deferred', reason, afterMs }
  }

  async #keepAsked(reason: string): Promise<void> {
    const asked: LoginRecord = { askedAt: toInstant(this.#options.clock.now()), reason, whose: this.#whose }
    await this.#options.logins.change(async () => JSON.stringify(asked))
  }

  /**
   * What an answer brings is what the next call sends, in whichever process. A newer login is left alone. An answer
   * without another token does not prolong the session.
   */
  async #keepNewest(session: Session, { headers }: HttpAnswer): Promise<Session> {
    const given = headers.get('x-csrf-token')
    const authorization = headers.get('set-token') ?? session.authorization
    const renewed = given !== null && { csrf: given, endsAt: this.#lifeFromNow() }
    const newest = { ...session, authorization, ...renewed }
    await this.#share.change(async text => {
      return kept(text, none).login <= session.login ? JSON.stringify(newest) : undefined
    })
    return newest
  }

  /** What the portal did stands whether its token can be kept or not: without it there is another login. */
  async #keepIfPossible(session: Session, answer: HttpAnswer): Promise<void> {
    try {
      await this.#keepNewest(session, answer)
    } catch (error) {
      if (!(error instanceof AverbaError)) throw error
    }
  }

  #lifeFromNow(): Instant {
    return toInstant(this.#options.clock.now() + lifetimeMs)
  }

  async #find(): Promise<Session> {
    return kept(await this.#share.find(), none)
  }
}

/** Publicly known: a session that is over is told by a 401, or by a 403, which then brings no other token. */
function isRejection({ status, headers }: HttpAnswer): boolean {
  return status === 401 || (status === 403 && !headers.has('x-csrf-token'))
}

function kept<T extends object>(text: string | undefined, otherwise: T): T {
  const value = text === undefined ? undefined : parseJson(text)
  return typeof value === 'object' && value !== null ? { ...otherwise, ...value } : otherwise
}

async function written(login: PortalLogin, baseUrl: string): Promise<Request> {
  try {
    return await login.write(baseUrl)
  } catch (error) {
    throw error instanceof AverbaError ? error : unwritable()
  }
}

/** The status, with the code where there is one: a service's own words may quote what is secret. */
function answerIn({ status, told }: HttpAnswer): string {
  return `${status} ${clearCode(readProblem(status, told())) ?? ''}`.trim()
}

function refusalIn(answer: HttpAnswer): string {
  if (answerIn(answer).endsWith('PLAT-ER2033')) return quiet
  const reason = `the portal answered the login ${answerIn(answer)}`
  return isRefusal(answer.status) ? `CREDENTIALS_REFUSED: ${reason}` : reason
}

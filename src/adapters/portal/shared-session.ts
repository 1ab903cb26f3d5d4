import { monotonicClock } from '../../runtime/clock.ts'
import { KeyedLock } from '../../runtime/locks.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import { fromInstant, toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { storableCode } from '../../vocabulary/outcome.ts'
import { whileHeld } from '../../vocabulary/performer.ts'
import { readProblem } from '../http/answer-body.ts'
import { declaredMeaning, meaningOf } from '../http/answer-meaning.ts'
import {
  type Exchange,
  type ExchangeOptions,
  type HttpAnswer,
  malformedRequest,
  sendRequest,
} from '../http/exchange.ts'
import type { AuthenticatedCall, NoSession, PortalAuthenticator } from './authentication.ts'
import type { ClosedTimes } from './closed-times.ts'
import type { PortalLogin } from './login.ts'
import { type SharedText, shareInMemory } from './shared-text.ts'

/** The logins of a profile, shared between the processes of a store, whoever logs in, with a lease for logging in. */
export interface LoginShare extends SharedText {
  /** Takes the lease to log in, or extends it: for how many milliseconds. `undefined` while another process has it. */
  takeLease(): Promise<number | undefined>
  /** Extends the lease while the work goes on, and releases it. */
  underLease<T>(work: () => Promise<T>): Promise<T>
  /** A digest that distinguishes identities and from which an identity cannot be guessed. */
  digestIdentity(identity: string): string
}

interface Session {
  /** The token, sent back unchanged; empty without a session. */
  readonly authorization: string
  /** The second token: every answer brings a new one. */
  readonly csrf: string
  readonly endsAt: Instant
  /** Number of the login: answers to an earlier login never replace a later session, whatever the clocks say. */
  readonly login: number
}

interface LoginRecord {
  /** When the last login was requested, and why there is no other for a minute. */
  readonly askedAt: Instant
  readonly reason: string
  /** The digest of the identity: the reason is only shown to the same identity. */
  readonly identityDigest: string
  /** The request leaves, and nobody has recorded its answer: it counts once nobody has the lease to log in. */
  readonly isOpen?: true
}

/** The portal refuses another login within a minute (docs/unspecified.md). One second more, for its clock. */
const loginPauseMs = 61_000
const loginPauseReason = 'the portal allows one login a minute'
/** The second token lives an hour from the last answer (docs/unspecified.md). Five minutes less, as a margin. */
const sessionLifetimeMs = 55 * 60_000
const leasePollMs = 250
const leasePollsMax = 40
/** Renewals of the session for one call: a login, and one newer answer of another process. */
const renewalsMax = 2

const emptySession: Session = { authorization: '', csrf: '', endsAt: toInstant(0), login: 0 }

const noLogin: LoginRecord = { askedAt: toInstant(0), reason: '', identityDigest: '' }

export interface SharedLogin {
  readonly login: PortalLogin
  readonly shareOf: (identity: string) => SharedText
  readonly logins: LoginShare
}

interface SharedSessionOptions extends ExchangeOptions, SharedLogin {
  readonly baseUrl: string
  readonly times: ClosedTimes
}

/** The login's name in the closed times of the portal. */
const loginOperation = 'autenticar'

/**
 * One session at the portal for all processes of a store that log in with the same identity. Calls run one after the
 * other. There is one login a minute for all identities: one that keeps changing would log in at each call.
 */
export function createSharedSession(options: SharedSessionOptions): PortalAuthenticator {
  const { baseUrl, clock, login, logins, shareOf, times } = options
  /** Looked up for each call: the keys or the certificate may have changed. */
  let share = shareInMemory()
  let identityDigest = ''
  /** The session that the current call logged in for. */
  let ownSession: Session | undefined

  async function send(call: AuthenticatedCall): Promise<Exchange | NoSession> {
    ownSession = undefined
    const identity = await login.identity()
    share = shareOf(identity)
    identityDigest = logins.digestIdentity(identity)
    let session = await current(undefined)
    for (let renewals = 0; ; renewals++) {
      if ('status' in session) return session
      const { authorization, csrf } = session
      const result = await call({ authorization, 'x-csrf-token': csrf })
      if (result.status !== 'answered') return result
      const { answer } = result
      if (!isSessionRejected(answer)) {
        await tryShareTokens(session, answer)
        return result
      }
      const isOwn = session === ownSession
      if (renewals === renewalsMax || (isOwn && (await isFinal(session, answer)))) return result
      session = await current(session)
    }
  }

  /** Whether the portal rejected a new session that no other answer has renewed: another login would not help. */
  async function isFinal(session: Session, answer: HttpAnswer): Promise<boolean> {
    const reason = `the portal rejects a new session: ${describeAnswer(answer)}`
    let isLast = true
    await share.change(async text => {
      isLast = !isUsable(parseShared(text, emptySession), session)
      return isLast ? JSON.stringify({ ...emptySession, login: session.login }) : undefined
    })
    if (isLast)
      await logins.change(async text => {
        const asked = parseShared(text, noLogin)
        return asked.identityDigest === identityDigest ? JSON.stringify({ ...asked, reason }) : undefined
      })
    return isLast
  }

  /** The shared session, unless it was rejected; else the session of a new login. */
  async function current(rejected: Session | undefined): Promise<Session | NoSession> {
    for (let polls = 0; polls < leasePollsMax; polls++) {
      const found = await findSessionOrWait(rejected)
      if (found) return found
      // Another process may have just logged in.
      if ((await logins.takeLease()) !== undefined)
        return logins.underLease(async () => (await findSessionOrWait(rejected, 'held')) ?? (await logIn()))
      await clock.sleep(leasePollMs, undefined, 'a look at the login of another process')
    }
    const found = await findSessionOrWait(rejected)
    return found ?? { status: 'deferred', reason: 'another process is logging in at the portal', afterMs: 5_000 }
  }

  /** Reads the last login before the session, which a login shares before it is noted. */
  async function findSessionOrWait(
    rejected: Session | undefined,
    lease?: 'held',
  ): Promise<Session | NoSession | undefined> {
    const wait = await findWait(lease)
    const session = await findSession()
    return isUsable(session, rejected) ? session : wait
  }

  function isUsable(session: Session, rejected: Session | undefined): boolean {
    if (session.authorization === '' || fromInstant(session.endsAt) <= clock.now()) return false
    return session.csrf !== rejected?.csrf || session.authorization !== rejected.authorization
  }

  /**
   * Defers for a minute after the last login request. Only the same identity gets its reason: to another one, such as
   * corrected keys, it does not apply. A time in the future does not defer: that clock was ahead.
   */
  async function findWait(lease?: 'held'): Promise<NoSession | undefined> {
    const asked = parseShared(await logins.find(), noLogin)
    if (asked.isOpen && !lease) return undefined
    const agoMs = clock.now() - fromInstant(asked.askedAt)
    if (agoMs < 0 || agoMs >= loginPauseMs) return undefined
    const reason = asked.identityDigest === identityDigest ? asked.reason : loginPauseReason
    return { status: 'deferred', reason, afterMs: loginPauseMs - agoMs }
  }

  async function logIn(): Promise<Session | NoSession> {
    const known = await findSession()
    const closed = await times.findClosed(loginOperation)
    if (closed) return closed
    const request = await writeLogin(login, baseUrl)
    let own: string | undefined
    const extend = async () => {
      const leftMs = await logins.takeLease()
      // Another process may have logged in while this one stood still.
      const isLate =
        (await findSession()).login > known.login || ((await logins.find()) !== own && (await findWait('held')))
      if (isLate || leftMs === undefined) return undefined
      // Before it leaves: whoever cannot record the answer has logged in all the same.
      own = await recordLogin(loginPauseReason, { isOpen: true })
      return leftMs
    }
    const maySend = whileHeld(monotonicClock(clock), extend)
    /** Nothing left. */
    const forgetOwn = async () => {
      if (own !== undefined) await logins.change(async text => (text === own ? JSON.stringify(noLogin) : undefined))
    }
    const result = await sendRequest(options, 'once', () => request.clone(), maySend).catch(async error => {
      await forgetOwn().catch(() => undefined)
      throw error
    })
    if (result.status === 'unsent') {
      await forgetOwn()
      return { status: 'deferred', reason: result.reason }
    }
    // The login may have succeeded, and its tokens are lost.
    if (result.status === 'lost') return endLogin(known, result.reason)
    const { answer } = result
    const authorization = answer.headers.get('set-token')
    if (answer.status < 300 && authorization !== null) {
      const begun = { ...emptySession, authorization, endsAt: sessionEnd(), login: known.login + 1 }
      ownSession = await shareTokens(begun, answer)
      await recordLogin(loginPauseReason)
      return ownSession
    }
    const refused = await times.recordClosed(loginOperation, answer)
    return endLogin(known, refused?.reason ?? describeRefusal(answer, options.answers), refused?.afterMs)
  }

  async function endLogin({ login }: Session, reason: string, afterMs = loginPauseMs): Promise<NoSession> {
    await recordLogin(reason)
    // A process that stood still may come after a later login.
    await share.change(async text =>
      parseShared(text, emptySession).login > login ? undefined : JSON.stringify({ ...emptySession, login }),
    )
    return { status: 'deferred', reason, afterMs }
  }

  async function recordLogin(reason: string, state: Pick<LoginRecord, 'isOpen'> = {}): Promise<string> {
    const record: LoginRecord = { askedAt: toInstant(clock.now()), reason, identityDigest, ...state }
    const text = JSON.stringify(record)
    await logins.change(async () => text)
    return text
  }

  /** Shares an answer's tokens. A newer login stays, and only a new second token prolongs the session. */
  async function shareTokens(session: Session, { headers }: HttpAnswer): Promise<Session> {
    const given = headers.get('x-csrf-token')
    const authorization = headers.get('set-token') ?? session.authorization
    const renewed = given !== null && { csrf: given, endsAt: sessionEnd() }
    const newest = { ...session, authorization, ...renewed }
    await share.change(async text => {
      return parseShared(text, emptySession).login <= session.login ? JSON.stringify(newest) : undefined
    })
    return newest
  }

  /** Ignores a failure to share the tokens: the call was done, and the next one logs in again. */
  async function tryShareTokens(session: Session, answer: HttpAnswer): Promise<void> {
    try {
      await shareTokens(session, answer)
    } catch (error) {
      if (!(error instanceof AverbaError)) throw error
    }
  }

  function sessionEnd(): Instant {
    return toInstant(clock.now() + sessionLifetimeMs)
  }

  async function findSession(): Promise<Session> {
    return parseShared(await share.find(), emptySession)
  }

  const calls = new KeyedLock()
  // Calls of this process run one after the other: each answer changes the second token.
  return { send: call => calls.run(['call'], () => send(call)) }
}

/** An ended session is answered 401, or 403 without a new second token (docs/unspecified.md). */
function isSessionRejected({ status, headers }: HttpAnswer): boolean {
  return status === 401 || (status === 403 && !headers.has('x-csrf-token'))
}

function parseShared<T extends object>(text: string | undefined, otherwise: T): T {
  return text === undefined ? otherwise : JSON.parse(text) // Sealed by us, above.
}

async function writeLogin(login: PortalLogin, baseUrl: string): Promise<Request> {
  try {
    return await login.write(baseUrl)
  } catch (error) {
    throw error instanceof AverbaError ? error : malformedRequest()
  }
}

/** The status, and the code if there is one. The service's own text may quote secrets. */
function describeAnswer({ status, redacted }: HttpAnswer): string {
  return `${status} ${storableCode(readProblem(status, redacted())) ?? ''}`.trim()
}

function describeRefusal(answer: HttpAnswer, answers: ExchangeOptions['answers']): string {
  if (describeAnswer(answer).endsWith('PLAT-ER2033')) return loginPauseReason
  const reason = `the portal answered the login ${describeAnswer(answer)}`
  const meaning = declaredMeaning(answer, answers) ?? meaningOf(answer, 'portal')
  if (meaning === 'deferred' || meaning === 'unknown') return reason
  return `${meaning === 'declined' ? 'CREDENTIALS_REFUSED' : meaning}: ${reason}`
}

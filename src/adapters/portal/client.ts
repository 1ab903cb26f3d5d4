import type { Carried, Owed } from '../../message.ts'
import { type Answer, conclude, type ExchangeOptions, exchange } from '../exchange.ts'
import type { EffectClass, Performer, Performers } from '../performer.ts'
import { clearCode, problemPart, readProblem } from '../problem.ts'
import { valueFrom } from '../source.ts'
import type { Fetch } from '../transport.ts'
import { ClosedTimes } from './closed-times.ts'
import {
  readFailures,
  readList,
  readSubscribed,
  type Secrets,
  writeChange,
  writeDelete,
  writeFailures,
  writeList,
  writeSubscribe,
} from './protocol.ts'

/**
 * Gives the headers that authenticate a call. The contract does not show how the portal authenticates, so
 * it is a function; `send` reaches the portal, for those that log in first.
 */
export type PortalAuthentication = (send: Fetch) => Promise<Record<string, string>>

/** Where the portal is, and how to authenticate there. */
export interface PortalClientOptions extends ExchangeOptions {
  readonly baseUrl: string
  readonly authenticate: PortalAuthentication
  /** The secrets of a subscription, asked for when they are sent. */
  readonly secretsOf: (evento: string, held: { endpoint: string; generation: number }) => Promise<Secrets>
}

/** What a subscription's machine writes into its effects. */
interface SubscriptionData {
  readonly evento: string
  readonly endpoint: string
  /** Of our secrets. */
  readonly generation: number
  readonly remoteId: number
}

/** One of the five operations. */
interface Operation {
  readonly effectClass: EffectClass
  readonly write: (base: string, headers: Record<string, string>, owed: Owed, secrets: Secrets) => Request
  /** The fact that a success makes; `undefined` when the answer cannot be read. */
  readonly read: (text: string, owed: Owed) => Carried | undefined
}

const operations: Readonly<Record<string, Operation>> = {
  subscribe: {
    effectClass: 'probed',
    write(base, headers, owed, secrets) {
      const { evento, endpoint } = dataOf(owed)
      return writeSubscribe(base, headers, { evento, endpoint, ...secrets })
    },
    read(text, owed) {
      const remoteId = readSubscribed(text)
      return remoteId === undefined ? undefined : fact('subscribed', { remoteId, ...heldIn(owed) })
    },
  },
  changeSubscription: {
    effectClass: 'probed',
    write(base, headers, owed, secrets) {
      const { remoteId, evento, endpoint } = dataOf(owed)
      return writeChange(base, headers, remoteId, { evento, endpoint, ...secrets })
    },
    read: (_, owed) => fact('subscriptionChanged', heldIn(owed)),
  },
  deleteSubscription: {
    effectClass: 'probed',
    write: (base, headers, owed) => writeDelete(base, headers, dataOf(owed).remoteId),
    read: () => fact('subscriptionDeleted', {}),
  },
  listSubscriptions: {
    effectClass: 'read',
    write: (base, headers) => writeList(base, headers),
    read(text) {
      const listing = readList(text)
      return listing && fact('subscriptionsListed', listing)
    },
  },
  listFailures: {
    effectClass: 'read',
    write: (base, headers, owed) => writeFailures(base, headers, (owed.data as { day: string | null }).day), // As the machine writes it.
    read(text) {
      const listing = readFailures(text)
      return listing && fact('failuresListed', listing)
    },
  },
}

/** The webhook portal over a way out (document 3, section 4). */
export function createPortalClient(options: PortalClientOptions): Performers {
  const session = new Session(options)
  const times = new ClosedTimes(options.clock)
  return Object.fromEntries(
    Object.entries(operations).map(([verb, operation]) => {
      return [`portal.${verb}`, toPerformer(verb, operation, options, session, times)]
    }),
  )
}

function toPerformer(
  verb: string,
  operation: Operation,
  options: PortalClientOptions,
  session: Session,
  times: ClosedTimes,
): Performer {
  const { effectClass } = operation
  const lost = (): Carried => fact('lost', { operation: verb })
  return {
    effectClass,
    lost,
    async perform(owed) {
      const closed = times.before(verb)
      if (closed) return closed
      const secrets = effectClass === 'read' ? {} : await options.secretsOf(dataOf(owed).evento, heldIn(owed))
      const send = (headers: Record<string, string>) =>
        exchange(options, effectClass, () => operation.write(options.baseUrl, headers, owed, secrets))
      const reading = {
        service: 'portal',
        settled: (text: string) => operation.read(text, owed),
        declined: (answer: Answer) => declined(verb, answer, owed),
        isSuccess: (status: number) => status >= 200 && status < 300,
        lost,
      }
      const result = await session.send(send)
      const refused = result.status === 'answered' ? times.after(verb, result.answer) : undefined
      return refused ?? conclude(result, effectClass, reading, options.clock)
    },
  }
}

/** Keeps the headers of one authentication until the portal refuses them. */
class Session {
  readonly #options: PortalClientOptions
  #headers: Promise<Record<string, string>> | undefined

  constructor(options: PortalClientOptions) {
    this.#options = options
  }

  async send(call: (headers: Record<string, string>) => ReturnType<typeof exchange>) {
    const used = this.#authenticate()
    const headers = await used.catch(error => {
      if (this.#headers === used) this.#headers = undefined
      throw error
    })
    const result = await call(headers)
    if (result.status !== 'answered' || result.answer.status !== 401) return result
    // Only the headers that were refused are given up: another call may have renewed them meanwhile.
    if (this.#headers === used) this.#headers = undefined
    return call(await this.#authenticate())
  }

  #authenticate(): Promise<Record<string, string>> {
    const { authenticate, fetch } = this.#options
    this.#headers ??= valueFrom(() => authenticate(fetch), 'authentication of the portal')
    return this.#headers
  }
}

function declined(verb: string, answer: Answer, owed: Owed): Carried {
  const problem = readProblem(answer.status, answer.text)
  const data = { operation: verb, httpStatus: answer.status, code: clearCode(problem) }
  return {
    ...fact('declined', data),
    parts: { problem: { owner: owed.stream, value: problemPart(problem) } },
  }
}

function fact(name: string, data: object): Carried {
  return { type: `portal.${name}`, data }
}

/** What the portal shall hold: effects of the first logs knew of no generations. */
function heldIn(owed: Owed): { endpoint: string; generation: number } {
  const { endpoint, generation = 1 } = dataOf(owed)
  return { endpoint, generation }
}

function dataOf(owed: Owed): SubscriptionData {
  return owed.data as SubscriptionData // As the subscription's machine writes it.
}

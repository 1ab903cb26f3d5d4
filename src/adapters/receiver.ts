import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { BlockList, isIPv4 } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import type { Clock } from '../clock.ts'
import { AverbaError } from '../errors.ts'
import type { Secrets } from './portal/protocol.ts'
import { limits, type RecipientKind, recipientKinds, sourceRanges } from './portal/wire.ts'

/** A notification as it came in, checked and not yet stored. */
export interface Incoming {
  readonly evento: string
  readonly recipient: { readonly kind: RecipientKind | null; readonly id: string }
  readonly body: Uint8Array
}

/** Whom to believe, and where to store. */
export interface ReceiverOptions {
  readonly clock: Clock
  /** The ranges that notifications may come from, or `any`. The portal's own by default. */
  readonly sources?: readonly string[] | 'any'
  /** How many proxies of yours stand in front and add to `X-Forwarded-For`. */
  readonly trustedProxies?: number
  /** The secrets that a notification of this event may carry: one of them must fit whole. */
  readonly secretsOf: (evento: string) => Promise<readonly Secrets[]>
  /** Resolves when the notification is durable. */
  readonly store: (incoming: Incoming) => Promise<void>
  readonly bodyBytesMax?: number
  /** Told of what was refused, by status. */
  readonly onRefused: (status: number) => void
  /** Told of what could not be stored, and was answered 503. */
  readonly onStoreError: (error: unknown) => void
}

/** Takes the portal's notifications: a 2xx is a commit (document 3, section 6). */
export interface Receiver {
  /**
   * Answers one request on any host. Without an address it is refused, unless sources are `any`.
   *
   * @throws {AverbaError} `REMOTE_ADDRESS_MISSING`, `BODY_CONSUMED`: the host wired it wrongly
   */
  fetch(request: Request, from?: { remoteAddress: string }): Promise<Response>
  /** The same for node:http and node:https. */
  listener(incoming: IncomingMessage, outgoing: ServerResponse): void
}

/** The portal gives up after 3500 ms: our 503 must reach it before that. */
const budgetMs = limits.processingMs - 500
const defaultBodyBytesMax = 1_048_576

/** Makes a receiver. */
export function createReceiver(options: ReceiverOptions): Receiver {
  const { sources = sourceRanges } = options
  const isAllowed = sources === 'any' ? () => true : parseRanges(sources)

  async function receive(request: Request, from?: { remoteAddress: string }): Promise<Response> {
    const refusal = refuse(request, from)
    const response = refusal ?? (await inTime(late => take(request, late)))
    if (response.status >= 400 && response.status < 500) options.onRefused(response.status)
    return response
  }

  /** What can be told from the head alone. */
  function refuse(request: Request, from?: { remoteAddress: string }): Response | undefined {
    if (request.method !== 'POST') return answer(405, 'Only POST is taken here')
    if (sources !== 'any' && !isAllowed(clientAddress(request, from, options.trustedProxies ?? 0))) {
      return answer(403, 'This address may not notify')
    }
    if (request.bodyUsed) throw bodyConsumed()
    const evento = eventoOf(request)
    const isNamed = evento !== '' && evento.length <= limits.evento
    return isNamed ? undefined : answer(400, 'The header event-type is missing or too long')
  }

  /** Secrets, body and commit, all within the budget: after it nothing is stored any more. */
  async function take(request: Request, late: AbortSignal): Promise<Response> {
    const evento = eventoOf(request)
    if (!(await isAuthentic(request, await options.secretsOf(evento))))
      return answer(401, 'The secrets do not fit')
    const body = await readBody(request, options.bodyBytesMax ?? defaultBodyBytesMax, late)
    if (late.aborted) return answer(503, 'It came too slowly')
    if (!body) return answer(413, 'The body is too large')
    await options.store({ evento, recipient: recipientOf(request), body })
    return answer(204)
  }

  async function inTime(work: (late: AbortSignal) => Promise<Response>): Promise<Response> {
    const late = new AbortController()
    const done = new AbortController()
    const over = options.clock.sleep(budgetMs, done.signal).then(() => {
      late.abort()
      return answer(503, 'It was not stored in time')
    })
    const taken = work(late.signal).catch(error => {
      options.onStoreError(error)
      return answer(503, 'It could not be stored')
    })
    return Promise.race([taken, over]).finally(() => done.abort())
  }

  const listener = getRequestListener(
    (request, { incoming }) => {
      const remoteAddress = (incoming as IncomingMessage).socket.remoteAddress
      return receive(request, remoteAddress === undefined ? undefined : { remoteAddress })
    },
    {
      overrideGlobalObjects: false,
      errorHandler: error =>
        answer(500, error instanceof AverbaError ? error.message : 'It could not be taken'),
    },
  )
  return {
    fetch: receive,
    listener(incoming, outgoing) {
      if (!incoming.readableDidRead) return void listener(incoming, outgoing)
      const { message, hint } = bodyConsumed()
      outgoing.writeHead(500).end(`${message}. ${hint}\n`)
    },
  }
}

function bodyConsumed(): AverbaError {
  return new AverbaError('BODY_CONSUMED', 'Cannot read the notification: its body was consumed before', {
    hint: 'Put the receiver before any body parser',
  })
}

function eventoOf(request: Request): string {
  return request.headers.get('event-type') ?? ''
}

function clientAddress(
  request: Request,
  from: { remoteAddress: string } | undefined,
  trustedProxies: number,
): string {
  if (!from) {
    throw new AverbaError('REMOTE_ADDRESS_MISSING', 'Cannot check where the notification comes from', {
      hint: "Pass { remoteAddress }, or set receiver.sources to 'any' when another layer checks it",
    })
  }
  // Each trusted proxy adds the address that it saw: walk back over as many as there are, no further.
  const forwarded = (request.headers.get('x-forwarded-for') ?? '').split(',').map(each => each.trim())
  const seen = [...forwarded.filter(each => each !== ''), from.remoteAddress]
  return seen[seen.length - 1 - trustedProxies] ?? ''
}

/**
 * Reads source ranges.
 *
 * @throws {AverbaError} `MISCONFIGURED`
 */
export function parseRanges(sources: readonly string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const source of sources) {
    const [network = '', prefix = '32'] = source.split('/')
    if (!isIPv4(network) || !/^\d{1,2}$/.test(prefix) || Number(prefix) > 32) {
      throw new AverbaError('MISCONFIGURED', `Cannot use the source range "${source}"`, {
        hint: 'Give IPv4 ranges, such as 161.148.0.0/16',
      })
    }
    list.addSubnet(network, Number(prefix), 'ipv4')
  }
  return address => {
    const plain = address.replace(/^::ffff:/, '')
    return isIPv4(plain) && list.check(plain, 'ipv4')
  }
}

/** Every secret that a subscription has must fit; where none has any, there is nothing to check. */
async function isAuthentic(request: Request, candidates: readonly Secrets[]): Promise<boolean> {
  const secret = request.headers.get('secret') ?? ''
  const authorization = request.headers.get('authorization') ?? ''
  const checks = candidates.map(({ chaveSecreta, chaveAutenticacao }) => {
    const isSecret = chaveSecreta === undefined || isEqual(secret, chaveSecreta)
    const isAuthorization = chaveAutenticacao === undefined || isEqual(authorization, chaveAutenticacao)
    return isSecret && isAuthorization
  })
  return checks.length === 0 || checks.includes(true)
}

function isEqual(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}

async function readBody(
  request: Request,
  bytesMax: number,
  late: AbortSignal,
): Promise<Uint8Array | undefined> {
  if (Number(request.headers.get('content-length') ?? 0) > bytesMax) return undefined
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of request.body ?? []) {
    size += chunk.length
    if (size > bytesMax || late.aborted) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const recipientIdMax = 40

function recipientOf(request: Request): Incoming['recipient'] {
  const tipo = request.headers.get('destinatario-tipo')?.trim().toUpperCase()
  const kind = recipientKinds.find(each => each === tipo) ?? null
  return { kind, id: (request.headers.get('destinatario-id') ?? '').trim().slice(0, recipientIdMax) }
}

function answer(status: number, text?: string): Response {
  return new Response(text === undefined ? null : `${text}\n`, { status })
}

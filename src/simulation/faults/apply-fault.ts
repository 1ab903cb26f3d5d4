import type { Clock } from '../../runtime/clock.ts'
import { UnsentError } from '../../vocabulary/connection-errors.ts'
import { defaultBudgetMs, type Fetch } from '../../vocabulary/fetch.ts'
import type { Fault } from './fault.ts'

/** Sends a request with a fault applied. Throws what the transport would throw. */
export async function applyFault(fault: Fault, request: Request, forward: Fetch, clock: Clock): Promise<Response> {
  switch (fault.kind) {
    case 'refuse':
    case 'expiredCertificate':
    case 'unknownCertificate':
      throw new UnsentError(unsentCodes[fault.kind])
    case 'reset':
      throw connectionReset()
    case 'lose':
      await drain(await forward(request))
      throw connectionReset()
    case 'delay':
      await clock.sleep(fault.ms ?? 0, undefined, 'the fault delay')
      return forward(request)
    case 'trickle':
      return trickleBody(await forward(request), clock, fault.ms)
    case 'status':
      return statusResponse(fault)
    case 'gateway':
      return gatewayResponse(fault)
    case 'html':
      return withBody(await forward(request), '<html>Manutenção</html>', 'text/html')
    case 'contentType': {
      const answer = await forward(request)
      return withBody(answer, await answer.text(), 'text/plain')
    }
    case 'truncate': {
      const answer = await forward(request)
      const text = await answer.text()
      return withBody(answer, text.slice(0, text.length / 2))
    }
    case 'oversize':
      return oversizeBody(await forward(request))
    case 'duplicate': {
      const copy = request.clone()
      const first = await forward(request)
      // The answer to the second copy does not count.
      await forward(copy)
        .then(drain)
        .catch(() => undefined)
      return first
    }
    case 'wrongSecret':
      return forward(withWrongSecrets(request))
    case 'reorder':
    case 'rejectToken':
    case 'clockSkew':
      return forward(request)
  }
}

const unsentCodes = {
  refuse: 'ECONNREFUSED',
  expiredCertificate: 'CERT_HAS_EXPIRED',
  unknownCertificate: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
} as const

function connectionReset(): Error {
  return Object.assign(new Error('The connection broke'), { code: 'ECONNRESET' })
}

function statusResponse({ status = 500, retryAfterS }: Fault): Response {
  const wait = retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }
  const headers = { 'content-type': 'application/problem+json', ...wait }
  const others = { detail: null, instance: null, properties: null }
  return Response.json({ type: 'about:blank', title: 'Falha pedida', status, ...others }, { status, headers })
}

/** A page in the form of nginx, which names a bad certificate only in its text. */
function gatewayResponse({ status = 400 }: Fault): Response {
  const title = status === 400 ? '400 The SSL certificate error' : `${status} from a gateway`
  const body = `<html>\r\n<head><title>${title}</title></head>\r\n<body><center><h1>${title}</h1></center></body>\r\n</html>\r\n`
  const asks = status === 407 && { 'proxy-authenticate': 'Basic realm="proxy"' }
  return new Response(body, { status, headers: { 'content-type': 'text/html', ...asks } })
}

/** 1 GiB of blanks in all: larger than any client's limit. */
const oversizeChunks = 1_024
const blank = new Uint8Array(1_048_576).fill(32)

function withBody(response: Response, body: BodyInit, contentType?: string): Response {
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  if (contentType !== undefined) headers.set('content-type', contentType)
  // A 204 cannot have a body, so the changed response is a 200.
  return new Response(body, { status: isBodiless(response) ? 200 : response.status, headers })
}

/** Appends blanks to the answer until the client stops reading, or the limit is reached. */
async function oversizeBody(response: Response): Promise<Response> {
  const chunks = [new Uint8Array(await response.arrayBuffer()), ...Array<Uint8Array>(oversizeChunks).fill(blank)]
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const next = chunks.shift()
    if (next) controller.enqueue(next)
    else controller.close()
  }
  return withBody(response, new ReadableStream<Uint8Array>({ pull }))
}

const trickleChunksMax = 20

/** Answers at once, and sends the body in pieces: by default over twice the client's budget. */
async function trickleBody(response: Response, clock: Clock, ms?: number): Promise<Response> {
  const body = new Uint8Array(await response.arrayBuffer())
  const pieceBytes = Math.max(1, Math.ceil(body.length / trickleChunksMax))
  const pieces = Math.max(1, Math.ceil(body.length / pieceBytes))
  const pauseMs = ms ?? Math.ceil((2 * defaultBudgetMs) / pieces)
  const { status, headers } = response
  if (isBodiless(response)) {
    await clock.sleep(pauseMs, undefined, 'the fault trickle')
    return response
  }
  const cancelled = new AbortController()
  let sent = 0
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        await clock.sleep(pauseMs, cancelled.signal, 'the fault trickle')
        if (cancelled.signal.aborted) return
        const piece = body.subarray(sent, sent + pieceBytes)
        if (piece.length > 0) controller.enqueue(piece)
        sent += pieceBytes
        if (sent >= body.length) controller.close()
      },
      cancel: () => cancelled.abort(),
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { status, headers })
}

function isBodiless({ status }: Response): boolean {
  return status === 204 || status === 304
}

/** Copies a request and replaces its secrets with a wrong one; adds one if the request has no secret. */
function withWrongSecrets(request: Request): Request {
  const headers = new Headers(request.headers)
  for (const name of ['secret', ...(headers.has('authorization') ? ['authorization'] : [])])
    headers.set(name, 'segredo-nunca-combinado')
  return new Request(request, { headers })
}

/** Reads an answer to its end and discards it. */
export async function drain({ body }: Response): Promise<void> {
  await body?.pipeTo(new WritableStream())
}

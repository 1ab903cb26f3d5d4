import type { Clock } from '../../runtime/clock.ts'
import { UnsentError } from '../../vocabulary/connection-errors.ts'
import { defaultBudgetMs, type Fetch } from '../../vocabulary/fetch.ts'
import type { Fault } from './fault.ts'

/** Sends a request with a fault applied. Throws what the transport would throw. */
export async function applyFault(fault: Fault, request: Request, forward: Fetch, clock: Clock): Promise<Response> {
  switch (fault.kind) {
    case 'refuse':
      throw new UnsentError('ECONNREFUSED')
    case 'expiredCertificate':
      throw new UnsentError('CERT_HAS_EXPIRED')
    case 'unknownCertificate':
      throw new UnsentError('UNABLE_TO_VERIFY_LEAF_SIGNATURE')
    case 'reset':
      throw resetError()
    case 'lose':
      await drain(await forward(request))
      throw resetError()
    case 'delay':
      await clock.sleep(fault.ms ?? 0, undefined, 'the fault delay')
      return forward(request)
    case 'trickle':
      return trickleBody(await forward(request), clock, fault.ms)
    case 'status':
      return statusResponse(fault)
    case 'html':
      return changeBody(await forward(request), () => '<html>Manutenção</html>', 'text/html')
    case 'contentType':
      return changeBody(await forward(request), text => text, 'text/plain')
    case 'truncate':
      return changeBody(await forward(request), text => text.slice(0, text.length / 2))
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

function resetError(): Error {
  return Object.assign(new Error('The connection broke'), { code: 'ECONNRESET' })
}

function statusResponse({ status = 500, retryAfterS }: Fault): Response {
  const wait = retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }
  const headers = { 'content-type': 'application/problem+json', ...wait }
  return new Response(JSON.stringify({ type: 'about:blank', title: 'Falha pedida', status }), {
    status,
    headers,
  })
}

async function changeBody(
  response: Response,
  change: (text: string) => string,
  contentType?: string,
): Promise<Response> {
  const text = change(await response.text())
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  if (contentType !== undefined) headers.set('content-type', contentType)
  // A 204 cannot have a body, so the changed response is a 200.
  return new Response(text, { status: isBodiless(response) ? 200 : response.status, headers })
}

/** 1 GiB in all: larger than any client's limit. */
const oversizeChunks = 1_024
const blank = new Uint8Array(1_048_576).fill(32)

/** Appends blanks to the answer until the client stops reading, or the limit is reached. */
async function oversizeBody(response: Response): Promise<Response> {
  const first = new Uint8Array(await response.arrayBuffer())
  let sent = -1
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(sent < 0 ? first : blank)
      sent += 1
      if (sent === oversizeChunks) controller.close()
    },
  })
  const headers = new Headers(response.headers)
  headers.delete('content-length')
  return new Response(stream, { status: isBodiless(response) ? 200 : response.status, headers })
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
    return new Response(null, { status, headers })
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

const wrongSecret = 'segredo-nunca-combinado'

/** Copies a request and replaces its secrets with a wrong one; adds one if the request has no secret. */
function withWrongSecrets(request: Request): Request {
  const headers = new Headers(request.headers)
  headers.set('secret', wrongSecret)
  if (headers.has('authorization')) headers.set('authorization', wrongSecret)
  return new Request(request, { headers })
}

/** Reads an answer to its end and discards it. */
export async function drain({ body }: Response): Promise<void> {
  await body?.pipeTo(new WritableStream())
}

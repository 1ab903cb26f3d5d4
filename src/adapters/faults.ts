import { z } from 'zod'
import type { Clock, Entropy } from '../clock.ts'
import { type Fetch, UnsentError } from './transport.ts'

/**
 * What can go wrong on the way to a service, as data:
 *
 * - `refuse`: the connection is refused. Over a real socket it is closed when the request arrives, which
 *   looks like `reset`.
 * - `reset`: the connection breaks before the work is done; `lose`: after it, so that the answer is lost.
 * - `delay`: the answer comes `ms` later.
 * - `status`: another status with a problem body, and `retryAfterS` where given; no work is done.
 * - `html`, `contentType`: the answer of the work as a page, or under the wrong content type.
 * - `truncate`, `oversize`: half of the answer, or far too much.
 */
export const faultSchema = z.strictObject({
  kind: z.enum(['refuse', 'reset', 'lose', 'delay', 'status', 'html', 'contentType', 'truncate', 'oversize']),
  /** The service that it befalls; every one when absent. */
  service: z.enum(['consentService', 'tokenService', 'validationService', 'portal']).optional(),
  /** The method, and a part of the path; any when absent. */
  method: z.string().max(10).optional(),
  path: z.string().max(200).optional(),
  /** How often it happens; for ever when absent. */
  times: z.int().positive().optional(),
  /** How likely it is each time, in percent; certain when absent. */
  percent: z.int().min(1).max(100).optional(),
  status: z.int().min(400).max(599).optional(),
  retryAfterS: z.int().nonnegative().optional(),
  ms: z.int().nonnegative().optional(),
})

export type Fault = z.infer<typeof faultSchema>
export type FaultKind = Fault['kind']
export type FaultyService = NonNullable<Fault['service']>

const oversizeBytes = 8 * 1_048_576

/** The faults that are to come, in the order in which they were given. */
export class Faults {
  readonly #clock: Clock
  readonly #entropy: Entropy
  #coming: { fault: Fault; left: number }[] = []

  constructor(clock: Clock, entropy: Entropy) {
    this.#clock = clock
    this.#entropy = entropy
  }

  add(fault: Fault): void {
    this.#coming.push({ fault, left: fault.times ?? Number.POSITIVE_INFINITY })
  }

  clear(): void {
    this.#coming = []
  }

  /** Puts the faults between callers and a service. */
  around(service: FaultyService, forward: Fetch): Fetch {
    return async request => {
      const fault = this.#take(service, request)
      return fault ? this.#befall(fault, request, forward) : forward(request)
    }
  }

  #take(service: FaultyService, request: Request): Fault | undefined {
    const found = this.#coming.find(({ fault, left }) => left > 0 && this.#isMeant(fault, service, request))
    if (!found) return undefined
    found.left -= 1
    return found.fault
  }

  #isMeant(fault: Fault, service: FaultyService, request: Request): boolean {
    const { service: only = service, method = request.method, path = '', percent = 100 } = fault
    const isIt = only === service && method === request.method && new URL(request.url).pathname.includes(path)
    if (!isIt || percent === 100) return isIt
    const [byte = 0] = this.#entropy.bytes(1)
    return byte * 100 < percent * 256
  }

  async #befall(fault: Fault, request: Request, forward: Fetch): Promise<Response> {
    switch (fault.kind) {
      case 'refuse':
        throw new UnsentError('the connection was refused (ECONNREFUSED)')
      case 'reset':
        throw new Error('The connection broke before the work')
      case 'lose':
        await forward(request)
        throw new Error('The connection broke after the work')
      case 'delay':
        await this.#clock.sleep(fault.ms ?? 0)
        return forward(request)
      case 'status':
        return statusOf(fault)
      case 'html': {
        const { status } = await forward(request)
        return new Response('<html>Manutenção</html>', { status, headers: { 'content-type': 'text/html' } })
      }
      case 'contentType':
        return changed(await forward(request), text => text, { 'content-type': 'text/plain' })
      case 'truncate':
        return changed(await forward(request), text => text.slice(0, text.length / 2))
      case 'oversize':
        return changed(await forward(request), text => text + ' '.repeat(oversizeBytes))
    }
  }
}

function statusOf({ status = 500, retryAfterS }: Fault): Response {
  const wait = retryAfterS !== undefined && { 'retry-after': String(retryAfterS) }
  const headers = { 'content-type': 'application/problem+json', ...wait }
  return new Response(JSON.stringify({ type: 'about:blank', title: 'Falha pedida', status }), {
    status,
    headers,
  })
}

async function changed(
  response: Response,
  change: (text: string) => string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const text = change(await response.text())
  return new Response(text, {
    status: response.status,
    headers: { ...Object.fromEntries(response.headers), ...headers },
  })
}

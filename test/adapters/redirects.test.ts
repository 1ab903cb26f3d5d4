import { createServer, type RequestListener } from 'node:http'
import { expect, test } from 'vitest'
import { tryReach } from '../../src/adapters/http/try-reach.ts'
import { portalAccessKeys } from '../../src/adapters/portal/login.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { listenUntilEnd } from '../support/listen-until-end.ts'
import { requestsAt } from './fourteen-requests.ts'

const listen = async (listener: RequestListener) => `http://127.0.0.1:${await listenUntilEnd(createServer(listener))}`

/** A service that redirects every request, and the requests that arrived at the target. */
async function openRedirects(status: number) {
  const arrived: string[] = []
  const elsewhere = await listen(({ method, url }, response) => {
    arrived.push(`${method} ${url}`)
    response.end('{"nome":true}')
  })
  const base = await listen((_, response) => {
    response.writeHead(status, { location: `${elsewhere}/x` }).end()
  })
  return { base, arrived }
}

const name = "a %i is not followed, also with a host's own fetch that follows redirects"
test.each([301, 302, 307, 308])(name, async status => {
  const { base, arrived } = await openRedirects(status)
  const keys = { roleType: 'IMPEXP', clientId: 'id', clientSecret: 'segredo' } as const
  const requests = [...Object.values(requestsAt(base)), await portalAccessKeys(keys).write(base)]
  for (const request of requests) expect((await fetch(request)).status, request.url).toBe(status)
  const how = { fetch: (request: Request) => fetch(request), clock: systemClock, service: 'portal' } as const
  expect(await tryReach(base, how)).toMatchObject({ isReached: false, detail: expect.stringContaining(`${status}`) })
  expect(arrived).toEqual([])
})

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Document } from '../../openapi/document.ts'
import { documents } from '../../openapi/documents.ts'
import type { Fetch } from '../../src/vocabulary/fetch.ts'
import type { Json } from '../../src/vocabulary/message.ts'
import { type Described, describedIn, notification } from '../openapi/described.ts'
import { createPerformers, performOnce } from '../support/performers.ts'
import { root, toolPath } from '../support/run-script.ts'

/** Prism serves the documents in strict mode, and the clients work against it with their examples. */

const files = Object.keys(documents)
const operations = files.flatMap(file => {
  const document: Document = JSON.parse(readFileSync(join(root, 'docs/openapi', file), 'utf8'))
  return describedIn(document).filter(each => each.operation.operationId !== notification.operation.operationId)
})
const answers = operations.flatMap(each =>
  Object.keys(each.operation.responses).map(status => [each.operation.operationId, status, each] as const),
)

/** The addresses of Prism, by the title of the document. */
const addresses = new Map<string, string>()
const ending = new AbortController()

beforeAll(() => Promise.all(files.map(serve)))
afterAll(() => ending.abort())

async function serve(file: string): Promise<void> {
  const args = [toolPath('prism'), 'mock', '--errors', '--port', '0', join(root, 'docs/openapi', file)]
  const { signal } = ending
  const prism = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], signal })
  prism.on('error', () => undefined) // The abort is one.
  for await (const line of createInterface(prism.stdout)) {
    const [, address] = /listening on (http:\S+)/.exec(line) ?? []
    if (address === undefined) continue
    prism.stdout.resume()
    addresses.set(documents[file]?.info.title ?? '', address)
    return
  }
  throw new Error(`Prism does not serve ${file}`)
}

/** Performs an operation with its examples, and lists the statuses and the violations that Prism answers. */
async function perform({ document, operation }: Described, changed: object, headers: Record<string, string> = {}) {
  const { operationId, parameters = [], requestBody } = operation
  const values = Object.fromEntries(parameters.map(each => [each.name, each.example]))
  const [media] = Object.values(requestBody?.content ?? {})
  const body: Record<string, Json> = JSON.parse(JSON.stringify(media?.example ?? {}))
  const statuses: number[] = []
  const violations: string[] = []
  const fetch: Fetch = async request => {
    const { pathname, search } = new URL(request.url)
    // Prism serves the paths of a document without that of its server.
    const path = pathname.replace(/^\/consentimento(?=\/)/, '')
    const response = await globalThis.fetch(`${addresses.get(document.info.title)}${path}${search}`, {
      method: request.method,
      headers: { ...Object.fromEntries(request.headers), ...headers },
      body: (await request.text()) || null,
    })
    statuses.push(response.status)
    const reported: { message: string }[] = JSON.parse(response.headers.get('sl-violations') ?? '[]')
    violations.push(...reported.map(each => each.message))
    return response
  }
  // Prism takes no secret with a colon.
  const given = { token: { consumerSecret: 's' }, portal: { secretsOf: async () => body } }
  const performers = createPerformers(fetch, given)
  const type = Object.keys(performers).find(each => each.endsWith(`.${operationId}`)) ?? ''
  const others = { remoteId: values.id, claims: body.answer, redirect: values.redirectUrl, day: '2026-11-20' }
  const all: Record<string, Json> = JSON.parse(JSON.stringify({ ...values, ...body, ...others, ...changed }))
  const outcome = await performOnce(performers, type, { data: { validation: 'v', ...all }, parts: all })
  return { outcome, statuses, violations: violations.filter(each => each !== noCertificates) }
}

/** Prism speaks HTTP, and checks no certificate. It warns of this in every answer of the consent service. */
const noCertificates = 'We currently do not support this type of security scheme: mutualTLS'

/** The outcomes that are neither `settled` with a 200 nor `declined` with an error. */
const otherOutcomes: Readonly<Record<string, string>> = {
  // About the request and the token that the client itself makes.
  'requestToken 400': 'deferred',
  'requestToken 415': 'deferred',
  'validatePerson 401': 'deferred',
  'changeStatus 500': 'unknown',
}

test.each(answers)('%s is answered %s by Prism, which the client understands', async (id, status, described) => {
  const { outcome, statuses, violations } = await perform(described, {}, { prefer: `code=${status}` })
  expect(violations).toEqual([])
  expect(new Set(statuses)).toEqual(new Set([Number(status)]))
  const usual = status === '200' ? 'settled' : status === '500' ? 'deferred' : 'declined'
  expect(outcome.status).toBe(otherOutcomes[`${id} ${status}`] ?? usual)
})

test('Prism reports a request that the document forbids', async () => {
  const [changeStatus] = operations
  if (!changeStatus) throw new TypeError('There is no operation')
  const { outcome, statuses, violations } = await perform(changeStatus, { status: 'PENDENTE' })
  expect(statuses).toEqual([400])
  expect(violations.join()).toMatch(/status must be equal to one of the allowed values/)
  expect(outcome.status).toBe('declined')
})

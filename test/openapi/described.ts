import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Document, Method, Operation, Parameter, Server } from '../../openapi/document.ts'

/** The documents of docs/openapi as their files are, not as they are generated. */

const folder = resolve(import.meta.dirname, '../../docs/openapi')

/** An operation or a webhook of a document, and how to recognise its requests. */
export interface Described {
  readonly document: Document
  readonly operation: Operation
  readonly method: string
  /** Matches the whole path of a request, with its parameters as groups. A webhook matches every path. */
  readonly path: RegExp
}

const documents = ['consent-service', 'token-and-validation', 'webhook-portal'].map(name => {
  // Another test checks that the files are what the generator writes, so they have this type.
  return JSON.parse(readFileSync(join(folder, `${name}.json`), 'utf8')) as Document
})

const methods: readonly Method[] = ['get', 'put', 'post', 'delete']

/** The fourteen operations. */
export const operations: readonly Described[] = documents.flatMap(document =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap(method => {
      const operation = item[method]
      const [server] = item.servers ?? document.servers
      if (!operation || !server) return []
      return [{ document, operation, method: method.toUpperCase(), path: pattern(server, path) }]
    }),
  ),
)

/** The notification that the portal sends. */
export const notification = ((): Described => {
  const document = documents.find(each => each.webhooks)
  const operation = document?.webhooks?.notificacao?.post
  if (!document || !operation) throw new TypeError('The notification is not described')
  return { document, operation, method: 'POST', path: /^/ }
})()

/** The operation of a request; `undefined` when the document has no such operation. */
export function describedBy(request: Request): Described | undefined {
  const { pathname } = new URL(request.url)
  const matches = operations.filter(each => each.method === request.method && each.path.test(pathname))
  if (matches.length > 1) throw new TypeError(`Several operations are ${request.method} ${pathname}`)
  return matches[0]
}

/** The value of a parameter in a request; `undefined` when it is absent. */
export function valueOf(parameter: Parameter, { path }: Described, request: Request): string | undefined {
  const { pathname, searchParams } = new URL(request.url)
  if (parameter.in === 'header') return request.headers.get(parameter.name) ?? undefined
  if (parameter.in === 'query') return searchParams.get(parameter.name) ?? undefined
  const text = path.exec(pathname)?.groups?.[parameter.name]
  return text === undefined ? undefined : decodeURIComponent(text)
}

/** The simulated services are at the roots of their hosts: only the path of a server's address matters. */
function pattern(server: Server, path: string): RegExp {
  const url = server.url.replace(/\{(\w+)\}/g, (_, name: string) => server.variables[name]?.default ?? '')
  const base = new URL(url).pathname.replace(/\/$/, '')
  return new RegExp(`^${base}${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

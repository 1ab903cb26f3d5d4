import type { Document, Method, Operation, Parameter, Server } from '../../openapi/document.ts'
import { documents } from '../../openapi/documents.ts'

/** An operation or a webhook of a document, and how to recognise its requests. */
export interface Described {
  readonly document: Document
  readonly operation: Operation
  readonly method: string
  /** The origin of the service's address in the document. */
  readonly origin: string
  /** Matches the whole path of a request, with its parameters as groups. */
  readonly path: RegExp
}

const methods: readonly Method[] = ['get', 'put', 'post', 'delete']

/** The operations of a document, and its notification, whose path is that of no request. */
export function describedIn(document: Document): Described[] {
  return Object.entries({ ...document.paths, ...document.webhooks }).flatMap(([path, item]) =>
    methods.flatMap(method => {
      const operation = item[method]
      const [server] = item.servers ?? document.servers
      if (!operation || !server) return []
      const { origin, pathname } = addressOf(server)
      return [{ document, operation, origin, method: method.toUpperCase(), path: pattern(pathname, path) }]
    }),
  )
}

const all = Object.values(documents).flatMap(describedIn)

/** Finds an operation, or the notification, by its id. */
export function describedAs(id: string): Described {
  const found = all.find(each => each.operation.operationId === id)
  if (!found) throw new TypeError(`There is no operation "${id}"`)
  return found
}

export const notification = describedAs('notify')

/** The fourteen operations. */
export const operations: readonly Described[] = all.filter(each => each !== notification)

/** The operation of a request; `undefined` when the document has no such operation. */
export function describedBy(request: Request): Described | undefined {
  const { pathname } = new URL(request.url)
  const ofPath = operations.filter(each => each.path.test(pathname))
  // A path without a parameter comes before one with (OpenAPI 3.1, section 4.8.8.2).
  const fixed = ofPath.filter(({ path }) => !path.source.includes('(?<'))
  const matches = (fixed.length > 0 ? fixed : ofPath).filter(each => each.method === request.method)
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

function addressOf(server: Server): URL {
  return new URL(server.url.replace(/\{(\w+)\}/g, (_, name: string) => server.variables[name]?.default ?? ''))
}

/** The simulated services are at the roots of their hosts: only the path of a server's address matters. */
function pattern(base: string, path: string): RegExp {
  return new RegExp(`^${base.replace(/\/$/, '')}${path.replace(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`)
}

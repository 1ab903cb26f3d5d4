import type { Document } from '../../openapi/document.ts'
import { writeDocument } from '../../openapi/documents.ts'
import { type Described, describedIn, valueOf } from './described.ts'
import { mediaTypeOf, parseBody, parseParameter } from './violations.ts'

/** The first request of each operation that succeeded, and its first answer of each status and media type. */
export class Examples {
  readonly #first = new Map<string, unknown>()

  /** Keeps an exchange where it is the first of its kind. A notification needs no answer. */
  async keep(described: Described, request: Request, response = new Response()): Promise<void> {
    const { operationId, parameters = [] } = described.operation
    // The simulated service has another port at each run.
    const text = (await response.text()).replaceAll(new URL(request.url).origin, described.origin)
    const type = mediaTypeOf(response.headers)
    this.#keepFirst(`${operationId} ${response.status} ${type}`, parseBody(type, text))
    if (!response.ok) return
    this.#keepFirst(operationId, parseBody(mediaTypeOf(request.headers), await request.text()))
    for (const each of parameters) {
      const value = valueOf(each, described, request)
      if (value !== undefined) this.#keepFirst(`${operationId} ${each.name}`, parseParameter(value, each.schema))
    }
  }

  #keepFirst(key: string, value: unknown): void {
    if (!this.#first.has(key)) this.#first.set(key, value)
  }

  write(document: Document): string {
    const copy: Document = JSON.parse(JSON.stringify(document))
    for (const { operation } of describedIn(copy)) {
      const { operationId, parameters = [], requestBody, responses } = operation
      for (const each of parameters) each.example = this.#first.get(`${operationId} ${each.name}`)
      for (const media of Object.values(requestBody?.content ?? {})) media.example = this.#first.get(operationId)
      for (const [status, { content = {} }] of Object.entries(responses))
        for (const [type, media] of Object.entries(content))
          media.example = this.#first.get(`${operationId} ${status} ${type}`)
    }
    return writeDocument(copy)
  }
}

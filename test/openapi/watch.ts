import type { Fetch } from '../../src/vocabulary/fetch.ts'
import { describedBy, notification } from './described.ts'
import { Examples } from './examples.ts'
import { checkRequest, checkResponse } from './violations.ts'

/** Checks what a client and the services exchange against the documents, and counts it. */
export class Watch {
  /** The number of answers by operation and status, such as `listConsents 200`. */
  readonly answers = new Map<string, number>()
  notifications = 0
  /** The first exchange of each kind. */
  readonly examples = new Examples()
  /** Every mismatch with the documents, whether the test that caused it noticed or not. */
  readonly violations: string[] = []

  /** Throws instead of an answer that does not match its document. */
  around(forward: Fetch): Fetch {
    return async request => {
      const described = describedBy(request)
      const asked = request.clone()
      const response = await forward(request)
      if (described) {
        const name = `${described.operation.operationId} ${response.status}`
        this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
        this.#note(await checkResponse(described, response.clone()))
        await this.examples.keep(described, asked, response.clone())
      } else if (response.status !== 404 && response.status !== 405)
        this.#note([`an unknown operation was answered ${response.status}`])
      return response
    }
  }

  /** Throws instead of a notification that does not match the document. */
  receiver(handle: (request: Request) => Response | Promise<Response>) {
    return async (request: Request): Promise<Response> => {
      this.notifications += 1
      this.#note(await checkRequest(notification, request.clone()))
      await this.examples.keep(notification, request.clone())
      return handle(request)
    }
  }

  #note(violations: readonly string[]): void {
    this.violations.push(...violations)
    if (violations.length > 0) throw new Error(`It does not match the document: ${violations.join('; ')}`)
  }
}

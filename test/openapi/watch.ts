import type { Fetch } from '../../src/vocabulary/fetch.ts'
import { describedBy, notification } from './described.ts'
import { wrongsOfRequest, wrongsOfResponse } from './wrongs.ts'

/** Holds what passes between a client and the services against the documents, and counts it. */
export class Watch {
  /** How many answers there were, by operation and status, such as `listConsents 200`. */
  readonly answers = new Map<string, number>()
  /** How many requests were of no operation: the services know no others. */
  strays = 0
  /** How many requests of the portal came to a receiver. */
  notifications = 0
  /** All that was not as the documents say, whether the test that saw it noticed or not. */
  readonly wrongs: string[] = []

  /** Throws in the place of an answer that its document does not have. */
  around(forward: Fetch): Fetch {
    return async request => {
      const described = describedBy(request)
      const response = await forward(request)
      if (described) {
        const name = `${described.operation.operationId} ${response.status}`
        this.answers.set(name, (this.answers.get(name) ?? 0) + 1)
        this.#note(await wrongsOfResponse(described, response.clone()))
      } else {
        this.strays += 1
        this.#note(response.status === 404 ? [] : [`what is no operation was answered ${response.status}`])
      }
      return response
    }
  }

  /** Throws in the place of an answer to a notification that the document does not describe. */
  receiver(handle: (request: Request) => Response | Promise<Response>) {
    return async (request: Request): Promise<Response> => {
      this.notifications += 1
      this.#note(await wrongsOfRequest(notification, request.clone()))
      return handle(request)
    }
  }

  #note(wrongs: readonly string[]): void {
    this.wrongs.push(...wrongs)
    if (wrongs.length > 0) throw new Error(`It is not as the document says: ${wrongs.join('; ')}`)
  }
}

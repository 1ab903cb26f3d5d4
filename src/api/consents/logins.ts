import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkAge } from '../arguments.ts'
import type { SubjectSelector } from '../subject-directory.ts'
import { DeferredReadings } from './deferred-readings.ts'
import type { FreshnessOptions } from './readings.ts'

/** Whether a data subject is logged in at the national login (document 1, section 2). */
export interface LoginState {
  readonly autenticado: boolean
  readonly horaExpiracao: Instant | null
  readonly readAt: Instant
}

/** Login state and login address of data subjects (document 1, operations 6 and 7). */
export interface Logins {
  /**
   * The login state, read at the service unless there is a reading younger than `ageMaxMs`. A login whose time is over
   * counts as logged out, whatever was read.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT` for a wrong `ageMaxMs`, `OUTCOME` when the service does not tell
   */
  state(selector: SubjectSelector & FreshnessOptions): Promise<LoginState>
  /**
   * The address of the national login, which returns to `redirectUrl`. Only addresses of the option
   * `consentService.redirectUrls` are let through.
   *
   * @throws {AverbaError} `INVALID_INPUT` for another address, `NOT_FOUND`, `OUTCOME`
   */
  url(selector: SubjectSelector, options?: { redirectUrl?: string }): Promise<URL>
}

/** Makes the area `logins`. */
export function createLogins(context: ApiContext): Logins {
  const { commands, rows, store, subjects } = context
  const putOff = new DeferredReadings(store)
  return {
    async state(who) {
      checkAge(who.ageMaxMs)
      const subject = await subjects.find(who)
      const rowOf = () => rows.find('logins', subject, streamOf('subject', subject))
      let row = await rowOf()
      if (!row || who.ageMaxMs === undefined || !context.isFresh(row.read_at, who.ageMaxMs)) {
        context.require('consentService')
        const deliver = async () => {
          const message = { type: 'subject.readLogin', data: await putOff.replaced(subject) }
          return { targets: [{ stream: streamOf('subject', subject), message }] }
        }
        const outcome = await commands.send({ method: 'logins.state', subject }, deliver, {}, rowOf)
        putOff.note(subject, outcome)
        row = valueOf(outcome)
      }
      if (!row) throw new TypeError('A login state was read and is not in its view')
      const isOver = row.expires_at !== null && row.expires_at <= toInstant(context.clock.now())
      const autenticado = row.is_authenticated === 1 && !isOver
      return { autenticado, horaExpiracao: row.expires_at, readAt: row.read_at }
    },
    async url(selector, { redirectUrl } = {}) {
      const subject = await subjects.find(selector)
      context.require('consentService')
      if (redirectUrl !== undefined && !context.options.consentService?.redirectUrls?.includes(redirectUrl)) {
        throw new AverbaError(
          'INVALID_INPUT',
          'Cannot return to this address after the login: it is not listed',
          {
            hint: 'Add it to consentService.redirectUrls',
          },
        )
      }
      const stream = streamOf('subject', subject)
      const parts =
        redirectUrl === undefined ? {} : { parts: { redirect: { owner: stream, value: redirectUrl } } }
      const data = { hasRedirect: redirectUrl !== undefined }
      const message = { type: 'subject.readLoginAddress', data, ...parts }
      const outcome = await commands.send(
        { method: 'logins.url', subject, redirectUrl: redirectUrl ?? null },
        async () => ({ targets: [{ stream, message }] }),
        {},
        async ended => String(await store.open(`${ended.id}/address`)),
      )
      return new URL(valueOf(outcome))
    },
  }
}

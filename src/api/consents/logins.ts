import { AverbaError } from '../../vocabulary/errors.ts'
import { toInstant } from '../../vocabulary/instant.ts'
import type { Instant } from '../../vocabulary/message.ts'
import { checkKnownNames, streamOf } from '../../vocabulary/names.ts'
import { valueOf } from '../../vocabulary/outcome.ts'
import type { ApiContext } from '../api-context.ts'
import { checkAge } from '../arguments.ts'
import type { SubjectRef, SubjectSelector } from '../subject-directory.ts'
import { createSubjectReadings, type FreshnessOptions } from './readings.ts'

/** Whether a data subject is logged in at the national login (document 1, section 2). */
export interface LoginState {
  readonly autenticado: boolean
  readonly horaExpiracao: Instant | null
  readonly readAt: Instant
}

/** Login state and login address of data subjects (document 1, operations 6 and 7). */
export interface Logins {
  /**
   * Gets the login state, from a reading no older than `ageMaxMs`. An expired login counts as logged out.
   *
   * @throws {AverbaError} `NOT_FOUND`, `INVALID_INPUT` for a wrong `ageMaxMs`, `OUTCOME` without an answer
   */
  state(selector: SubjectSelector & FreshnessOptions): Promise<LoginState>
  /**
   * Gets the address of the national login, which returns to `redirectUrl`: one of `consentService.redirectUrls`.
   *
   * @throws {AverbaError} `INVALID_INPUT` for another address, `NOT_FOUND`, `OUTCOME`
   */
  url(selector: SubjectSelector, options?: { redirectUrl?: string }): Promise<URL>
}

export function createLogins(context: ApiContext): Logins {
  const { commands, rows, store, subjects } = context
  const findRow = (subject: SubjectRef) => rows.find('logins', subject, streamOf('subject', subject))
  const readings = createSubjectReadings(context, { type: 'subject.readLogin' }, ({ subject }, createRequest) =>
    commands.send({ method: 'logins.state', subject }, createRequest, {}, () => findRow(subject)),
  )
  return {
    async state(selector) {
      checkAge(selector.ageMaxMs)
      const subject = await subjects.find(selector, 'ageMaxMs')
      let row = await findRow(subject)
      if (!row || selector.ageMaxMs === undefined || !context.isFresh(row.read_at, selector.ageMaxMs))
        row = valueOf(await readings.read({ subject }))
      if (!row) throw new TypeError('A login state was read and its view has no row')
      const isOver = row.expires_at !== null && row.expires_at <= toInstant(context.clock.now())
      const autenticado = row.is_authenticated === 1 && !isOver
      return { autenticado, horaExpiracao: row.expires_at, readAt: row.read_at }
    },
    async url(selector, options = {}) {
      checkKnownNames(options, ['redirectUrl'], { noun: 'option' })
      const { redirectUrl } = options
      const subject = await subjects.find(selector)
      context.require('consentService')
      if (redirectUrl !== undefined && !context.options.consentService?.redirectUrls?.includes(redirectUrl)) {
        const message = 'Cannot return to this address after the login: it is not listed'
        throw new AverbaError('INVALID_INPUT', message, { hint: 'Add it to consentService.redirectUrls' })
      }
      const stream = streamOf('subject', subject)
      const parts = redirectUrl === undefined ? {} : { parts: { redirect: { owner: stream, value: redirectUrl } } }
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

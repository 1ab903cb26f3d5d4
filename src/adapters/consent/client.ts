import { toInstant } from '../../vocabulary/instant.ts'
import type { Json, MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import { type EffectClass, effectOwner, type Performer, type Performers } from '../../vocabulary/performer.ts'
import { conclude, type ExchangeOptions, exchange, type HttpAnswer } from '../http/exchange.ts'
import { problemPart, readProblem } from '../http/problem.ts'
import {
  readAwareness,
  readAwarenessList,
  readChanged,
  readConsent,
  readConsents,
  readLogin,
  readLoginAddress,
  writeChangeStatus,
  writeListAwareness,
  writeListConsents,
  writeReadAwareness,
  writeReadConsent,
  writeReadLogin,
  writeReadLoginAddress,
} from './protocol.ts'

type OpenedParts = Readonly<Record<string, Json>>

/** One of the seven operations: how it is asked, and which fact its answer makes. */
interface ConsentOperation {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  readonly write: (base: string, opened: OpenedParts, pending: PendingEffect) => Request
  /** The fact that a success makes; `undefined` when the answer cannot be read. */
  readonly read: (text: string, pending: PendingEffect, opened: OpenedParts) => MessageWithParts | undefined
  /** The fact that it is no longer tried, where something waits for it. */
  readonly givenUp?: () => MessageWithParts
}

const operations: Readonly<Record<string, ConsentOperation>> = {
  changeStatus: {
    effectClass: 'probed',
    write: (base, opened, pending) =>
      writeChangeStatus(base, textOf(opened, 'cpf'), idOf(opened), askedIn(pending)),
    read(text, pending, opened) {
      const changed = readChanged(text, idOf(opened))
      return changed && fact('statusChanged', { ...changed, asked: askedIn(pending) })
    },
  },
  listConsents: {
    effectClass: 'read',
    isRoutine: true,
    write: (base, opened) => writeListConsents(base, textOf(opened, 'cpf')),
    read: text => fact('consentsListed', readConsents(text)),
  },
  readConsent: {
    effectClass: 'read',
    write: (base, opened) => writeReadConsent(base, textOf(opened, 'cpf'), idOf(opened)),
    read(text, pending, opened) {
      const found = readConsent(text, { cpf: textOf(opened, 'cpf'), id: idOf(opened) })
      if (!found) return undefined
      const { summary, history, detail } = found
      const parts = { detail: { owner: effectOwner(pending), value: detail } }
      return { type: 'consentService.consentRead', data: { ...summary, history }, parts }
    },
    givenUp: () => ({ type: 'consentService.readGivenUp', data: {} }),
  },
  listAwareness: {
    effectClass: 'read',
    write: (base, opened) => writeListAwareness(base, textOf(opened, 'cpf')),
    read: text => fact('awarenessListed', readAwarenessList(text)),
  },
  readAwareness: {
    effectClass: 'read',
    write: (base, opened) => writeReadAwareness(base, textOf(opened, 'cpf'), textOf(opened, 'id')),
    read(text, pending, opened) {
      const detail = readAwareness(text, { cpf: textOf(opened, 'cpf'), id: textOf(opened, 'id') })
      return (
        detail && {
          type: 'consentService.awarenessRead',
          data: pending.data,
          parts: { detail: { owner: effectOwner(pending), value: detail } },
        }
      )
    },
  },
  readLogin: {
    effectClass: 'read',
    write: (base, opened) => writeReadLogin(base, textOf(opened, 'cpf')),
    read: text => fact('loginRead', readLogin(text)),
  },
  readLoginAddress: {
    effectClass: 'read',
    write: (base, opened) =>
      writeReadLoginAddress(
        base,
        textOf(opened, 'cpf'),
        'redirect' in opened ? textOf(opened, 'redirect') : undefined,
      ),
    read(text, pending) {
      const address = readLoginAddress(text)
      return address === undefined
        ? undefined
        : {
            type: 'consentService.loginAddressRead',
            data: {},
            parts: { address: { owner: effectOwner(pending), value: address } },
          }
    },
  },
}

/** The consent service over a way out (document 1). */
export function createConsentClient(baseUrl: string, options: ExchangeOptions): Performers {
  return Object.fromEntries(
    Object.entries(operations).map(([verb, operation]) => {
      return [`consentService.${verb}`, toPerformer(verb, operation, baseUrl, options)]
    }),
  )
}

function toPerformer(
  verb: string,
  operation: ConsentOperation,
  baseUrl: string,
  options: ExchangeOptions,
): Performer {
  const { effectClass, isRoutine, givenUp } = operation
  const now = () => toInstant(options.clock.now())
  const lost = (pending: PendingEffect): MessageWithParts => {
    return { type: 'consentService.changeLost', data: { status: askedIn(pending), lostAt: now() } }
  }
  return {
    effectClass,
    lostFact: lost,
    ...(isRoutine && { isRoutine }),
    ...(givenUp && { givenUpFact: givenUp }),
    async perform(pending, opened, mayLeave) {
      // An answer is as old as its question: later changes may not be in it.
      const askedAt = now()
      const write = () => operation.write(baseUrl, opened, pending)
      const result = await exchange(options, effectClass, write, mayLeave)
      const reading = {
        service: 'consent service',
        settled(text: string) {
          const read = operation.read(text, pending, opened)
          if (!read || !isTimed.has(read.type)) return read
          const data = read.data as object // As the readers below make it.
          return { ...read, data: { ...data, askedAt } }
        },
        declined: (answer: HttpAnswer) => declined(verb, answer, pending),
        isSuccess: (status: number) => status === 200,
        lost: () => lost(pending),
      }
      return conclude(result, effectClass, reading, options.clock)
    },
  }
}

function declined(verb: string, answer: HttpAnswer, pending: PendingEffect): MessageWithParts {
  const type = verb === 'changeStatus' ? 'consentService.changeDeclined' : 'consentService.readDeclined'
  const data =
    verb === 'changeStatus' ? { asked: askedIn(pending) } : verb === 'readConsent' ? {} : { operation: verb }
  const problem = problemPart(readProblem(answer.status, answer.told()))
  return {
    type,
    data: { ...data, httpStatus: answer.status },
    parts: { problem: { owner: effectOwner(pending), value: problem } },
  }
}

function fact(name: string, data: object | undefined): MessageWithParts | undefined {
  return data && { type: `consentService.${name}`, data }
}

/** The facts that say what the service showed, and so have an age. */
const isTimed = new Set(
  ['statusChanged', 'consentsListed', 'consentRead', 'awarenessListed', 'awarenessRead', 'loginRead'].map(
    name => `consentService.${name}`,
  ),
)

/** The status that a change asks for. */
function askedIn({ data }: PendingEffect): string {
  return (data as { status: string }).status // As the machine writes it.
}

function textOf(opened: OpenedParts, name: string): string {
  const value = opened[name]
  if (typeof value !== 'string') throw new TypeError(`The part "${name}" is not a text`)
  return value
}

/** The service's id is in the record of the consent as it was first listed. */
function idOf(opened: OpenedParts): string {
  const { record } = opened
  const id = typeof record === 'object' && record !== null && 'id' in record ? record.id : undefined
  if (typeof id !== 'string') throw new TypeError('The part "record" holds no id')
  return id
}

import { toInstant } from '../../vocabulary/instant.ts'
import type { Json, MessageWithParts, PendingEffect } from '../../vocabulary/message.ts'
import { type EffectClass, effectOwner, type Performer, type Performers } from '../../vocabulary/performer.ts'
import { type ExchangeOptions, type HttpAnswer, sendRequest, toOutcome } from '../http/exchange.ts'
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

interface ConsentOperation {
  readonly effectClass: EffectClass
  readonly isRoutine?: true
  readonly write: (base: string, opened: OpenedParts, pending: PendingEffect) => Request
  /** The fact of a success; `undefined` when the answer cannot be read. */
  readonly read: (text: string, pending: PendingEffect, opened: OpenedParts) => MessageWithParts | undefined
  /** The fact that retries have ended, if something waits for the answer. */
  readonly givenUp?: () => MessageWithParts
}

const operations: Readonly<Record<string, ConsentOperation>> = {
  changeStatus: {
    effectClass: 'probed',
    write: (base, opened, pending) =>
      writeChangeStatus(base, partText(opened, 'cpf'), recordId(opened), newStatus(pending)),
    read(text, pending, opened) {
      const changed = readChanged(text, recordId(opened))
      return changed && consentFact('statusChanged', { ...changed, asked: newStatus(pending) })
    },
  },
  listConsents: {
    effectClass: 'read',
    isRoutine: true,
    write: (base, opened) => writeListConsents(base, partText(opened, 'cpf')),
    read: text => consentFact('consentsListed', readConsents(text)),
  },
  readConsent: {
    effectClass: 'read',
    write: (base, opened) => writeReadConsent(base, partText(opened, 'cpf'), recordId(opened)),
    read(text, pending, opened) {
      const found = readConsent(text, { cpf: partText(opened, 'cpf'), id: recordId(opened) })
      if (!found) return undefined
      const { summary, history, detail } = found
      const parts = { detail: { owner: effectOwner(pending), value: detail } }
      return { type: 'consentService.consentRead', data: { ...summary, history }, parts }
    },
    givenUp: () => ({ type: 'consentService.readGivenUp', data: {} }),
  },
  listAwareness: {
    effectClass: 'read',
    write: (base, opened) => writeListAwareness(base, partText(opened, 'cpf')),
    read: text => consentFact('awarenessListed', readAwarenessList(text)),
  },
  readAwareness: {
    effectClass: 'read',
    write: (base, opened) => writeReadAwareness(base, partText(opened, 'cpf'), partText(opened, 'id')),
    read(text, pending, opened) {
      const detail = readAwareness(text, { cpf: partText(opened, 'cpf'), id: partText(opened, 'id') })
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
    write: (base, opened) => writeReadLogin(base, partText(opened, 'cpf')),
    read: text => consentFact('loginRead', readLogin(text)),
  },
  readLoginAddress: {
    effectClass: 'read',
    write: (base, opened) =>
      writeReadLoginAddress(
        base,
        partText(opened, 'cpf'),
        'redirect' in opened ? partText(opened, 'redirect') : undefined,
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

/** Creates the performers of the consent service (document 1). */
export function createConsentClient(baseUrl: string, options: ExchangeOptions): Performers {
  return Object.fromEntries(
    Object.entries(operations).map(([verb, operation]) => {
      return [`consentService.${verb}`, toPerformer(verb, operation, baseUrl, options)]
    }),
  )
}

function toPerformer(verb: string, operation: ConsentOperation, baseUrl: string, options: ExchangeOptions): Performer {
  const { effectClass, isRoutine, givenUp } = operation
  const now = () => toInstant(options.clock.now())
  const lost = (pending: PendingEffect): MessageWithParts => {
    return { type: 'consentService.changeLost', data: { status: newStatus(pending), lostAt: now() } }
  }
  return {
    effectClass,
    lostFact: lost,
    ...(isRoutine && { isRoutine }),
    ...(givenUp && { givenUpFact: givenUp }),
    async perform(pending, opened, maySend) {
      // The answer counts as of the time of the request: later changes may not be in it.
      const askedAt = now()
      const write = () => operation.write(baseUrl, opened, pending)
      const result = await sendRequest(options, effectClass, write, maySend)
      const reader = {
        service: 'consent service',
        settled(text: string) {
          const read = operation.read(text, pending, opened)
          if (!read || !timedFacts.has(read.type)) return read
          const data = read.data as object // As `read` makes it.
          return { ...read, data: { ...data, askedAt } }
        },
        declined: (answer: HttpAnswer) => declinedFact(verb, answer, pending),
        isSuccess: (status: number) => status === 200,
        lost: () => lost(pending),
      }
      return toOutcome(result, effectClass, reader, options.clock)
    },
  }
}

function declinedFact(verb: string, answer: HttpAnswer, pending: PendingEffect): MessageWithParts {
  const type = verb === 'changeStatus' ? 'consentService.changeDeclined' : 'consentService.readDeclined'
  const data =
    verb === 'changeStatus' ? { asked: newStatus(pending) } : verb === 'readConsent' ? {} : { operation: verb }
  const problem = problemPart(readProblem(answer.status, answer.redacted()))
  return {
    type,
    data: { ...data, httpStatus: answer.status },
    parts: { problem: { owner: effectOwner(pending), value: problem } },
  }
}

function consentFact(name: string, data: object | undefined): MessageWithParts | undefined {
  return data && { type: `consentService.${name}`, data }
}

/** The facts that record what the service showed at a time: `askedAt` is added to them. */
const timedFacts = new Set(
  ['statusChanged', 'consentsListed', 'consentRead', 'awarenessListed', 'awarenessRead', 'loginRead'].map(
    name => `consentService.${name}`,
  ),
)

/** The status that a change asks for. */
function newStatus({ data }: PendingEffect): string {
  return (data as { status: string }).status // As the machine writes it.
}

function partText(opened: OpenedParts, name: string): string {
  const value = opened[name]
  if (typeof value !== 'string') throw new TypeError(`The part "${name}" is not a text`)
  return value
}

/** The service's id of a consent. */
function recordId(opened: OpenedParts): string {
  const { record } = opened
  const id = typeof record === 'object' && record !== null && 'id' in record ? record.id : undefined
  if (typeof id !== 'string') throw new TypeError('The part "record" holds no id')
  return id
}

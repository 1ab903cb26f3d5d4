import type { ForeignCode } from '../../vocabulary/foreign-answer.ts'
import { parseJson } from '../../vocabulary/json.ts'
import type { ServiceName } from '../../vocabulary/names.ts'
import { errorLengthMax, isXmlFault } from './answer-body.ts'

/** The form of a body: `problem` is RFC 9457, `fault` a gateway's in XML, `json` another object or a list of some. */
export type AnswerForm = 'problem' | 'json' | 'fault' | 'html' | 'empty' | 'other'

/**
 * What an answer that is no success means for its call: the service refuses it, or will do it later; it may have been
 * done; or somebody else answered.
 */
export type AnswerMeaning = 'declined' | 'deferred' | 'unknown' | ForeignCode

/** A form that a host knows its service to answer in, and what it means. */
export interface DeclaredAnswer {
  readonly status: number
  /** A text in the first 16 KiB of the body; any body when absent. */
  readonly contains?: string | undefined
  readonly means: 'declined' | 'deferred' | 'unknown'
}

/** A row of the table of answers. All that it names must hold. */
export interface AnswerRule {
  /** The first and the last status. */
  readonly statuses: readonly [number, number]
  /** The answer has one of these headers. */
  readonly headers?: readonly string[]
  readonly isOwn?: true
  /** The call can be repeated or read back: it is not one that is sent only once. */
  readonly isRepeatable?: true
  /** The body contains this text. */
  readonly contains?: string
  readonly means: AnswerMeaning
}

/**
 * What each answer but a success means, for all services: the first row that holds counts. The contracts show neither
 * 408, 429 and 503 nor what stands between us and a service, so this is our policy (`answers-1`).
 */
export const answerRules: readonly AnswerRule[] = [
  { statuses: [429, 429], isOwn: true, means: 'deferred' },
  { statuses: [503, 503], headers: ['retry-after'], isOwn: true, means: 'deferred' },
  { statuses: [429, 429], isRepeatable: true, means: 'deferred' },
  { statuses: [503, 503], headers: ['retry-after'], isRepeatable: true, means: 'deferred' },
  { statuses: [408, 408], means: 'unknown' },
  { statuses: [400, 499], isOwn: true, means: 'declined' },
  // What nginx answers: 400, with 495 or 496 only for those who ask for it.
  { statuses: [495, 496], means: 'CERTIFICATE_REFUSED' },
  { statuses: [400, 499], contains: 'SSL certificate', means: 'CERTIFICATE_REFUSED' },
  { statuses: [407, 407], means: 'PROXY_REFUSED' },
  { statuses: [400, 499], headers: ['proxy-authenticate', 'x-squid-error'], means: 'PROXY_REFUSED' },
  { statuses: [400, 499], means: 'SERVICE_MISDIRECTED' },
  { statuses: [100, 599], means: 'unknown' },
]

/**
 * The forms in which each service speaks for itself. Document 1 shows RFC 9457 (section 7). Documents 2 and 3 show no
 * form, so for them an object in JSON, or a gateway's fault, is our policy.
 */
export const ownForms: Readonly<Record<ServiceName, readonly AnswerForm[]>> = {
  consentService: ['problem'],
  tokenService: ['problem', 'json', 'fault'],
  validationService: ['problem', 'json', 'fault'],
  portal: ['problem', 'json', 'fault'],
}

interface SeenAnswer {
  readonly status: number
  readonly headers: Pick<Headers, 'get' | 'has'>
  readonly text: string
}

const lookedAtMax = 16_384

/** Returns what a host has declared of an answer, if anything. */
export function declaredMeaning(
  { status, text }: Pick<SeenAnswer, 'status' | 'text'>,
  declared: readonly DeclaredAnswer[] = [],
): DeclaredAnswer['means'] | undefined {
  const seen = text.slice(0, lookedAtMax)
  return declared.find(each => each.status === status && seen.includes(each.contains ?? ''))?.means
}

/** Checks that a body has one of the forms in which a service speaks for itself. */
export function isOwnForm(answer: Omit<SeenAnswer, 'status'>, service: ServiceName): boolean {
  return ownForms[service].includes(formOf(answer))
}

/**
 * Returns what an answer that is no success means, by the table.
 *
 * @param isOnce whether the call is sent only once
 */
export function meaningOf(answer: SeenAnswer, service: ServiceName, isOnce = false): AnswerMeaning {
  const { status, headers } = answer
  const text = answer.text.slice(0, lookedAtMax)
  const isOwn = isOwnForm(answer, service)
  const holds = (rule: AnswerRule) =>
    status >= rule.statuses[0] &&
    status <= rule.statuses[1] &&
    (rule.headers?.some(name => headers.has(name)) ?? true) &&
    (isOwn || !rule.isOwn) &&
    (!isOnce || !rule.isRepeatable) &&
    text.includes(rule.contains ?? '')
  return answerRules.find(holds)?.means ?? 'unknown'
}

/** Returns the form of an answer's body. One that is longer than any that a service writes has none of these. */
export function formOf({ headers, text }: Omit<SeenAnswer, 'status'>): AnswerForm {
  if (text.length > errorLengthMax) return 'other'
  if (text.trim() === '') return 'empty'
  const value: unknown = parseJson(text)
  const object: unknown = Array.isArray(value) ? value[0] : value
  if (typeof object === 'object' && object !== null) {
    const isNamed = headers.get('content-type')?.toLowerCase().startsWith('application/problem+json')
    return isNamed || hasProblemMembers(object) ? 'problem' : 'json'
  }
  if (isXmlFault(text)) return 'fault'
  return /^\s*<(!doctype html|html|head|body|title|h1|center)\b/i.test(text.slice(0, 1_000)) ? 'html' : 'other'
}

/** Checks that an object has at least two members of RFC 9457: others have a `type` or a `detail` too. */
function hasProblemMembers(body: object): boolean {
  const { type, title, detail, status } = body as Readonly<Record<string, unknown>> // Of any form.
  const isText = (each: unknown) => typeof each === 'string'
  return [isText(type), isText(title), isText(detail), Number.isInteger(status)].filter(Boolean).length >= 2
}

import type { PageOptions } from '../pages/labels.ts'
import { AverbaError } from '../vocabulary/errors.ts'
import { toInstant } from '../vocabulary/instant.ts'
import type { Actor, Basis, Instant } from '../vocabulary/message.ts'
import { checkKnownNames } from '../vocabulary/names.ts'
import { refusePersonalId } from '../vocabulary/tax-numbers.ts'

const idMax = 200
const textMax = 500

/** Checks an id, which stays in clear: short, well-formed, impersonal. Throws `INVALID_INPUT`, `PERSONAL_ID`. */
export function checkId(id: unknown, what: string): asserts id is string {
  checkClearText(id, what, idMax)
}

/** Checks an instant. Throws `INVALID_INPUT` when it is not ISO 8601 in UTC with milliseconds. */
export function checkInstant(at: unknown, what: string): asserts at is Instant {
  const ms = typeof at === 'string' ? Date.parse(at) : Number.NaN
  if (!Number.isNaN(ms) && toInstant(ms) === at) return
  throw new AverbaError('INVALID_INPUT', `Cannot use "${what}": it is not an instant`, {
    hint: 'Give it as 2026-11-20T12:00:00.000Z',
  })
}

/** Throws `INVALID_INPUT` for what is no signal, such as its controller. */
export function checkSignal(signal: AbortSignal): void {
  try {
    AbortSignal.any([signal])
  } catch (cause) {
    const hint = 'Give the signal of an AbortController: { signal: controller.signal }'
    throw new AverbaError('INVALID_INPUT', 'Cannot use the signal: it is no AbortSignal', { cause, hint })
  }
}

/** Checks a duration in milliseconds. Throws `INVALID_INPUT` when it is not a whole number from 0 on. */
export function checkMs(ms: unknown, what: string): void {
  if (Number.isSafeInteger(ms) && Number(ms) >= 0) return
  throw new AverbaError('INVALID_INPUT', `Cannot use "${what}": it is not a whole number of milliseconds`)
}

/** Checks the maximum age of a reading, a whole number from 0 on, or `undefined` for any. Throws `INVALID_INPUT`. */
export function checkAge(ageMaxMs: unknown): void {
  if (ageMaxMs !== undefined) checkMs(ageMaxMs, 'ageMaxMs')
}

/** Checks the form of a position, a whole number from 0 on (0: before the first event). Throws `INVALID_INPUT`. */
export function checkPosition(position: unknown, what: string): asserts position is number {
  if (Number.isSafeInteger(position) && Number(position) >= 0) return
  throw new AverbaError('INVALID_INPUT', `Cannot use "${what}": it is not a position of the log`, {
    hint: 'Positions are whole numbers, counted from 1',
  })
}

/** Checks that a value is one of the known ones. Throws `INVALID_INPUT`. */
export function checkOneOf(given: unknown, known: readonly string[], what: string): void {
  if (typeof given === 'string' && known.includes(given)) return
  throw new AverbaError('INVALID_INPUT', `Cannot use the ${what}: it is unknown`, {
    hint: `Use one of ${known.join(', ')}`,
  })
}

export function checkActor({ kind, ref }: Actor): void {
  if (kind !== 'subject' && kind !== 'person' && kind !== 'system')
    throw new AverbaError('INVALID_INPUT', "Cannot use the actor's kind: it is not one of subject, person, system")
  checkClearText(ref, "actor's ref", idMax)
}

/** Checks a purpose and a legal basis. Throws as `checkId` does. */
export function checkBasis({ purpose, legalBasis }: Basis): void {
  checkClearText(purpose, "basis's purpose", textMax)
  checkClearText(legalBasis, "basis's legal basis", textMax)
}

/** Checks the format and language of a report, and fills in the defaults. Throws `INVALID_INPUT`. */
export function checkPageOptions(page: PageOptions = {}) {
  checkKnownNames(page, ['format', 'language', 'onProgress'], { noun: 'option' })
  const { format = 'json', language = 'pt-BR' } = page
  const isKnown = ['json', 'html'].includes(format) && ['pt-BR', 'en'].includes(language)
  if (isKnown) return { format, language }
  throw new AverbaError('INVALID_INPUT', 'Cannot write the report: its format or its language is unknown', {
    hint: 'Formats are json and html, languages pt-BR and en',
  })
}

export function eventMismatch(what: 'consent' | 'validation'): AverbaError {
  return new AverbaError('INVALID_INPUT', `Cannot find the ${what}: the event is not about a ${what}`, {
    hint: `Pass an event of log.follow, log.read or on whose stream begins with "${what}-"`,
  })
}

function argumentMissing(method: string, position: number, cause: unknown): AverbaError {
  const hint = 'Its type and the documentation say what it takes'
  return new AverbaError('INVALID_INPUT', `Cannot call ${method}: argument ${position} is missing`, { cause, hint })
}

/** Has a function, or each method of an object, say which argument is missing. JavaScript knows no types. */
export function explainMissing<T extends object>(member: T, name: string): T {
  if (!(member instanceof Function)) {
    for (const [each, method] of Object.entries(member))
      Object.assign(member, { [each]: explainMissing(method, name === '' ? each : `${name}.${each}`) })
    return member
  }
  return new Proxy(member, {
    apply(_, self, args: readonly unknown[]) {
      // A parameter that may be left out has a default, and is not counted; but null takes no default.
      const required = Array.from({ length: member.length }, (_, i) => args[i] ?? null)
      const missing = [...required, ...args.slice(member.length)].indexOf(null)
      if (missing === -1) return Reflect.apply(member, self, args)
      const explain = (cause: unknown): never => {
        // What checks its arguments says more.
        throw cause instanceof TypeError ? argumentMissing(name, missing + 1, cause) : cause
      }
      try {
        const result: unknown = Reflect.apply(member, self, args)
        return result instanceof Promise ? result.catch(explain) : result
      } catch (cause) {
        return explain(cause)
      }
    },
  })
}

/** Checks the name of a stream, which may end with an id of the host's. Throws as `checkText` does. */
export function checkStream(stream: unknown): asserts stream is string {
  checkText(stream, 'name of a stream', textMax)
}

/** Checks the id of a call, which begins with the name of its stream. Throws as `checkText` does. */
export function checkCallId(id: unknown): asserts id is string {
  checkText(id, 'id of a call', textMax)
}

function checkClearText(text: unknown, what: string, max: number): asserts text is string {
  checkText(text, what, max)
  refusePersonalId(text, what)
}

/** Checks that a value is a well-formed text of 1 to `max` characters, not blank, no NUL. Throws `INVALID_INPUT`. */
export function checkText(text: unknown, what: string, max: number): asserts text is string {
  if (typeof text === 'string' && text.trim() !== '' && text.length <= max && isStorable(text)) return
  const cannot = `Cannot use the ${what}: it must be a text of 1 to ${max} characters, not blank`
  const hint =
    typeof text === 'string' && !isStorable(text)
      ? 'Without the character NUL and halves of surrogate pairs, which no server stores'
      : 'It is missing, no text, blank, or too long'
  throw new AverbaError('INVALID_INPUT', cannot, { hint })
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Consents do not change more often, and the service has other clients. */
const everyMinMs = 60_000

/** Checks the interval between readings of a data subject's consents. */
export function checkSyncEveryMs(everyMs: unknown): void {
  if (Number.isSafeInteger(everyMs) && Number(everyMs) >= everyMinMs) return
  throw new AverbaError('INVALID_INPUT', 'Cannot read consents that often: syncEveryMs is under a minute', {
    hint: 'Give a whole number of milliseconds, 60000 or more',
  })
}

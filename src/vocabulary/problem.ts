import { holdsCpf } from './cpf.ts'
import type { Json, Problem } from './message.ts'

/**
 * Returns the problem's code if it may be stored unencrypted: it is short, has letters, digits, dots and dashes only,
 * and identifies no person.
 *
 * @param sent - the personal data in the request, which a code may quote
 */
export function storableCode(problem: Problem, sent: Json = null): string | null {
  const { code } = problem
  if (code === undefined || !/^[\w.-]{1,40}$/.test(code) || /\d{7}/.test(code) || holdsCpf(code)) return null
  return quotesRequest(code, collectTexts(sent)) ? null : code
}

/** Checks whether a code contains a word of the request, or is part of one, ignoring accents, punctuation and case. */
function quotesRequest(code: string, sent: readonly string[]): boolean {
  const [words, joined] = [extractWords(code), extractWords(code).join('')]
  return sent.some(text => {
    const sentWords = extractWords(text)
    if (joined.length >= wordLengthMin && sentWords.join('').includes(joined)) return true
    return sentWords.some(word => words.includes(word) || (word.length > wordLengthMin && joined.includes(word)))
  })
}

function collectTexts(value: Json): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(collectTexts)
  return [String(value)]
}

/** Shorter words occur in many texts and identify no person. */
const wordLengthMin = 3

function extractWords(text: string): string[] {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[a-z0-9]+/g)?.filter(word => word.length >= wordLengthMin) ?? []
}

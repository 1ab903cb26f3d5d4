import { holdsCpf } from './cpf.ts'
import type { Json, Problem } from './message.ts'

/**
 * A code that may stand in clear: short, of letters, digits, dots and dashes only, and naming nobody.
 *
 * @param sent - what the request said of a person, which a code may quote
 */
export function clearCode(problem: Problem, sent: Json = null): string | null {
  const { code } = problem
  if (code === undefined || !/^[\w.-]{1,40}$/.test(code) || /\d{7}/.test(code) || holdsCpf(code)) return null
  return quotesRequest(code, collectTexts(sent)) ? null : code
}

/** Whether a code holds a word of what was sent, or is a piece of it: without accents, punctuation and capitals. */
function quotesRequest(code: string, sent: readonly string[]): boolean {
  const [words, joined] = [extractWords(code), extractWords(code).join('')]
  return sent.some(text => {
    const told = extractWords(text)
    const isPiece = joined.length >= wordLengthMin && told.join('').includes(joined)
    return (
      isPiece ||
      told.some(word => words.includes(word) || (word.length > wordLengthMin && joined.includes(word)))
    )
  })
}

function collectTexts(value: Json): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(collectTexts)
  return [String(value)]
}

/** Shorter pieces are in many texts: nobody is known by them. */
const wordLengthMin = 3

function extractWords(text: string): string[] {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[a-z0-9]+/g)?.filter(word => word.length >= wordLengthMin) ?? []
}

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
  return isQuoting(code, textsIn(sent)) ? null : code
}

/** Whether a code holds a word of what was sent, or is a piece of it: without accents, punctuation and capitals. */
function isQuoting(code: string, sent: readonly string[]): boolean {
  const [words, joined] = [wordsOf(code), wordsOf(code).join('')]
  return sent.some(text => {
    const told = wordsOf(text)
    const isPiece = joined.length >= knownMin && told.join('').includes(joined)
    return (
      isPiece || told.some(word => words.includes(word) || (word.length > knownMin && joined.includes(word)))
    )
  })
}

function textsIn(value: Json): string[] {
  if (typeof value === 'object' && value !== null) return Object.values(value).flatMap(textsIn)
  return [String(value)]
}

/** Shorter pieces are in many texts: nobody is known by them. */
const knownMin = 3

function wordsOf(text: string): string[] {
  const plain = text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[a-z0-9]+/g)?.filter(word => word.length >= knownMin) ?? []
}

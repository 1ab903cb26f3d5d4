import { escapeCharacter, printableText } from '../vocabulary/printable.ts'

/** Text that is HTML. Only the functions of this file create it. */
export interface Html {
  readonly html: string
}

type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[]

/** Writes HTML. Escapes every value that is not HTML, so that foreign text never becomes markup. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return { html: texts.map((text, i) => text + renderValue(values[i])).join('') }
}

/** Marks a text of our own as HTML, without escaping it. */
export function trustedHtml(text: string): Html {
  return { html: text }
}

function renderValue(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  // Invisible characters are shown as codes.
  if (typeof value === 'string' || typeof value === 'number') return escapeExactly(printableText(String(value))).html
  return 'html' in value ? value.html : value.map(renderValue).join('')
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes a text without changing any character, for texts that are compared with the proof. */
export function escapeExactly(text: string): Html {
  return { html: text.replace(/[&<>"']/g, char => entities[char] ?? '') }
}

/** Writes JSON for a script element: it can neither end the element nor begin a comment. */
export function jsonInScript(value: unknown): Html {
  return { html: JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escapeCharacter) }
}

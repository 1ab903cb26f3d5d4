import { escapeCharacter, printableText } from '../vocabulary/printable.ts'

/** Text that is HTML already. Only `html` and `trusted` make it. */
export interface Html {
  readonly html: string
}

type HtmlValue = Html | string | number | null | undefined | false | readonly HtmlValue[]

/** Writes HTML. Every value is escaped unless it is HTML already: nothing from outside becomes markup. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return { html: texts.map((text, i) => text + renderValue(values[i])).join('') }
}

/** Takes a text of our own as HTML. */
export function trustedHtml(text: string): Html {
  return { html: text }
}

function renderValue(value: HtmlValue): string {
  if (value === null || value === undefined || value === false) return ''
  if (typeof value === 'string' || typeof value === 'number') return escapeHtml(String(value))
  if (Array.isArray(value)) return value.map(renderValue).join('')
  return (value as Html).html // All that is left.
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Shows a text as it is, character by character: for what is compared. */
export function escapeExactly(text: string): Html {
  return { html: text.replace(/[&<>"']/g, char => entities[char] ?? '') }
}

/** Makes text safe between tags and inside quoted attributes. Invisible characters are shown. */
function escapeHtml(text: string): string {
  return escapeExactly(printableText(text)).html
}

/** Writes JSON that can stand inside a script element: it can neither end the element nor begin a comment. */
export function jsonInScript(value: unknown): Html {
  return { html: JSON.stringify(value).replace(/[<>&\u2028\u2029]/g, escapeCharacter) }
}

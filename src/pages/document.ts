import { createHash } from 'node:crypto'
import { type Html, html, trusted } from './html.ts'
import type { Language } from './language.ts'
import { style } from './style.ts'

/** What a page is made of. */
export interface DocumentParts {
  readonly language: Language
  readonly title: string
  readonly body: Html
  /** The text of its script, our own; it has none otherwise. */
  readonly script?: string
}

/**
 * Puts a page together: one file that needs nothing else. Its policy lets only this very style and this very script
 * work, and nothing be loaded or sent anywhere.
 */
export function writeDocument({ language, title, body, script }: DocumentParts): string {
  const policy = [
    "default-src 'none'",
    `style-src '${hashOf(style)}'`,
    ...(script === undefined ? [] : [`script-src '${hashOf(script)}'`]),
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ')
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${trusted(style)}</style>
</head>
<body>
${body}
${script !== undefined && html`<script>${trusted(script)}</script>`}
</body>
</html>
`
  return page.html
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

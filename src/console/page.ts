import { randomUUID } from 'node:crypto'
import type { Averba } from '../index.ts'
import { type Html, html } from '../pages/html.ts'
import type { Labels, Language } from '../pages/labels.ts'
import type { LanguageWords } from '../pages/words.ts'
import { readMoment } from '../vocabulary/brasilia.ts'
import type { Names } from './names.ts'
import type { TextName, Texts } from './texts.ts'

export interface Page {
  readonly averba: Averba
  readonly language: Language
  /** Translates what the library said: an error, the detail of a check, the reason of a call. */
  readonly message: (english: string) => string
  /** Completes the commands in a text by what names the log. */
  readonly commands: (text: string) => string
  readonly texts: Texts
  readonly names: Names
  readonly labels: Labels
  readonly words: LanguageWords
  /** What each address of the console begins with. */
  readonly base: string
  readonly path: string
  readonly query: URLSearchParams
  /** The paths in the menu, with the names of their titles. */
  readonly menu: readonly (readonly [path: string, title: TextName])[]
  /** In whose name the console acts; absent while it only shows. */
  readonly actor?: string | undefined
}

export function writePage(
  { language, texts, menu, actor, base, path, query }: Page,
  title: string,
  content: Html,
): string {
  const other = language === 'en' ? 'pt-BR' : 'en'
  const here = new URLSearchParams(query)
  here.set('lang', other)
  const page = html`<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · averba</title>
<link rel="stylesheet" href="${base}/console.css">
<link rel="icon" href="data:,">
<script src="${base}/console.js" defer></script>
</head>
<body>
<a class="skip" href="#content">${texts.skip}</a>
<header class="top">
<strong>averba</strong>
<nav aria-label="${texts.title}"><ul>${menu.map(([to, name]) => html`<li><a href="${to}"${path === to && html` aria-current="page"`}>${texts[name]}</a></li>`)}</ul></nav>
<p class="soft">${actor === undefined ? texts.readOnly : `${texts.operating} ${actor}`} · ${texts.times} · <a href="?${here.toString()}" hreflang="${other}">${texts.language}</a></p>
</header>
<main id="content" class="wide" tabindex="-1">
<h1>${title}</h1>
${content}
</main>
</body>
</html>
`
  return page.html
}

/** A link to a stream, at the moment that the page shows. */
export function linkToStream(page: Page, stream: string): Html {
  return html`<a href="${sameMoment(page, `/stream/${encodeURIComponent(stream)}`)}"><code>${stream}</code></a>`
}

/** Texts by name: what a form sends, or what it offers. */
export type Form = Readonly<Record<string, string>>

/** A choice among values in a form, by their names. The first, empty value selects all. */
export function choice(page: Page, name: string, label: string, values: Form, all = page.texts.any): Html {
  const chosen = page.query.get(name) ?? ''
  const options = Object.entries(values).map(
    ([value, text]) => html`<option value="${value}"${value === chosen && html` selected`}>${text}</option>`,
  )
  return html`<label>${label} <select name="${name}"><option value="">${all}</option>${options}</select></label>`
}

export function field(page: Page, name: string, label: string): Html {
  return html`<label>${label} <input name="${name}" value="${page.query.get(name) ?? ''}"></label>`
}

export function filterForm(page: Page, fields: readonly Html[]): Html {
  const known = page.query.get('known')
  const kept = known !== null && html`<input type="hidden" name="known" value="${known}">`
  return html`<form class="filter" method="get" action="${page.path}">${kept}${fields}<button>${page.texts.filter}</button></form>`
}

/** What cannot be taken back is asked for twice. */
const finalActs: ReadonlySet<string> = new Set([
  ...['effects/withdraw', 'followers/skip', 'validations/charged', 'validations/not-charged'],
  ...['consents/deny', 'consents/revoke', 'consents/withdraw-end'],
])

/** A form that acts, shown only to an operator. Its fields are sent with the ids. */
export function actForm(page: Page, act: string, label: string, ids: Form, fields: readonly Html[] = []): Html {
  const { actor, base, query, texts } = page
  // What is done is done now, not at the moment shown.
  if (actor === undefined || query.get('known')) return html``
  const isFinal = finalActs.has(act)
  // A form that is sent twice is one act.
  const hidden = Object.entries({ ...ids, command: newCommandId() }).map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  const form = html`<form class="act" method="post" action="${base}/act/${act}">${hidden}${fields}<button>${isFinal ? texts.confirm : label}</button></form>`
  return isFinal ? html`<details class="act"><summary>${label}</summary>${form}</details>` : form
}

/** A required field for text in a form that acts. */
export function required(name: string, label: string): Html {
  return html`<label>${label} <input name="${name}" required></label>`
}

/** The moment that a parameter names: a position, or an instant; `undefined` for now. */
export function readKnownAt(query: URLSearchParams, name = 'known'): number | string | undefined {
  const given = (query.get(name) ?? '').trim()
  return given === '' ? undefined : readMoment(given)
}

/** The address of another page at the moment that this one shows. */
export function sameMoment({ base, query }: Page, to: string): string {
  const known = query.get('known')
  return known ? `${base}${to}${to.includes('?') ? '&' : '?'}${new URLSearchParams({ known })}` : base + to
}

/** The form that shows a page as it was known at another moment: a slider over the log, and a field. */
export async function knownAtForm({ averba, path, query, texts }: Page): Promise<Html> {
  const position = await averba.log.end()
  const given = query.get('known') ?? ''
  const others = [...query].filter(([name]) => name !== 'known')
  const at = /^\d+$/.test(given) ? Math.min(Number(given), position) : position
  return html`<form class="filter known" method="get" action="${path}">
${others.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<label>${texts.knownAt} <input name="known" value="${given}" placeholder="${texts.now}"></label>
<input type="range" min="1" max="${position}" value="${at}" aria-label="${texts.knownAt}" data-known>
<button>${texts.show}</button>${given !== '' && html` <a href="${path}">${texts.now}</a> <span class="soft">${texts.pastNote}</span>`}
</form>`
}

/** In letters only: eleven digits in a row could be a CPF. */
function newCommandId(): string {
  return randomUUID()
    .replaceAll('-', '')
    .replace(/\d/g, each => 'ghijklmnop'.charAt(Number(each)))
}

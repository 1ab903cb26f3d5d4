import { createHash } from 'node:crypto'
import { formatBrasilia } from '../vocabulary/brasilia.ts'
import type { Actor, Basis, Instant } from '../vocabulary/message.ts'
import { type Html, html, trustedHtml } from './html.ts'
import type { Labels, Language } from './labels.ts'
import type { ReportedLog } from './subject-report.ts'

/** A page: its title and lead, the facts about it as a list, and its content. */
interface Page {
  readonly language: Language
  readonly title: string
  readonly lead: string
  /** Who answers to the reader. */
  readonly sender?: Html | undefined
  readonly facts: Html
  readonly log: ReportedLog
  readonly main: Html
  readonly isWide?: boolean
  readonly script?: { readonly source: string; readonly data: Html }
}

/** Writes a page as one file. Its Content-Security-Policy allows only its style and script. */
export function writeDocument(
  { language, title, lead, sender, facts, log, main, isWide, script }: Page,
  labels: Labels,
): string {
  const policy = [
    "default-src 'none'",
    `style-src '${cspHash(pageStyle)}'`,
    ...(script ? [`script-src '${cspHash(script.source)}'`] : []),
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
<style>${trustedHtml(pageStyle)}</style>
</head>
<body>
<header>${sender}
<h1>${title}</h1>
<p class="lead">${lead}</p>
<dl>
${facts}
<dt>${labels.asOf}</dt><dd>${showInstant(log.at, labels)}</dd>
</dl>
</header>
<main${isWide && html` class="wide"`}>
${main}
</main>
<footer><p>${labels.log} <code>${log.origin}</code>, ${labels.upTo.toLowerCase()} ${log.position}. ${labels.footer}</p></footer>${script?.data}
${script && html`<script>${trustedHtml(script.source)}</script>`}
</body>
</html>
`
  return page.html
}

function cspHash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}

/** The columns of a table: for each heading, what a row shows below it. */
export type Columns<Row> = readonly (readonly [heading: string, cell: (row: Row) => Html | string | number | null])[]

/**
 * Writes a headed table, or a short text when there are no rows. The heading is of level 2 unless said otherwise; that
 * of level 1 is the page's own, and is not repeated.
 */
export function showTable<Row>(
  title: string,
  rows: readonly Row[],
  labels: Labels,
  columns: Columns<Row>,
  { note, level = 2 }: { readonly note?: string | undefined; readonly level?: 1 | 2 | 3 } = {},
): Html {
  const headings = { 1: html``, 2: html`<h2>${title}</h2>`, 3: html`<h3>${title}</h3>` }
  const heading = html`${headings[level]}\n${note !== undefined && html`<p class="soft">${note}</p>\n`}`
  if (rows.length === 0) return html`${heading}<p class="none">${labels.nothing}</p>`
  return html`${heading}<div class="scroll" role="region" aria-label="${title}" tabindex="0"><table>
<thead><tr>${columns.map(([text]) => html`<th scope="col">${text}</th>`)}</tr></thead>
<tbody>
${rows.map(row => html`<tr>${columns.map(([text, cell]) => html`<td data-label="${text}"><div>${cell(row) ?? labels.none}</div></td>`)}</tr>\n`)}</tbody></table></div>`
}

/** Counts the items whose listed members are equal, with the first and the last of them. */
export function countAlike<T>(items: readonly T[], members: (item: T) => readonly unknown[]) {
  const alike = Map.groupBy(items, item => JSON.stringify(members(item)))
  return [...alike.values()].flatMap(group => {
    const [first, last] = [group[0], group.at(-1)]
    return first && last ? [{ first, last, times: group.length }] : []
  })
}

/** Names who acted; null when nobody of the host did. */
export function nameActor(actor: Actor | null, labels: Labels): string | null {
  return actor && `${labels.actorKinds[actor.kind]} ${actor.ref}`
}

export function nameBasis(basis: Basis | null): string | null {
  return basis && `${basis.purpose} (${basis.legalBasis})`
}

/** The style of all pages: light and dark, for large and small screens, and for print. */
export const pageStyle = `
:root{color-scheme:light dark;--ink:#1c2430;--soft:#566072;--line:#d8dde6;--paper:#fff;--tint:#f4f6f9;--blue:#1351b4;--good:#0f6b3a;--good-tint:#e5f4eb;--bad:#a3171d;--bad-tint:#fdebec;--doubt:#7a5200;--doubt-tint:#fff4dc}
@media(prefers-color-scheme:dark){:root{--ink:#e7eaf0;--soft:#a4aec0;--line:#38404f;--paper:#12161d;--tint:#1b212b;--blue:#8ab4ff;--good:#7fd8a4;--good-tint:#12301f;--bad:#ff9a9e;--bad-tint:#3a1719;--doubt:#f2c76b;--doubt-tint:#33270d}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main,header,footer{max-width:60rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2rem}h1{font-size:1.75rem;line-height:1.25;margin:.25rem 0 .5rem}h2{font-size:1.2rem;margin:2.5rem 0 .75rem;padding-bottom:.3rem;border-bottom:2px solid var(--line)}
h3{font-size:1rem;margin:1.5rem 0 .5rem}p{margin:.4rem 0;max-width:46rem}
.lead{color:var(--soft)}.soft{color:var(--soft);font-size:.85em}time{white-space:nowrap;font-variant-numeric:tabular-nums}.none{color:var(--soft)}.sender{font-weight:600}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.82em;overflow-wrap:anywhere}
pre{background:var(--tint);border:1px solid var(--line);border-radius:.4rem;padding:.6rem;white-space:pre-wrap;margin:.4rem 0;direction:ltr;unicode-bidi:bidi-override}
dl{display:grid;grid-template-columns:minmax(9rem,max-content) 1fr;gap:.3rem 1.25rem;margin:1rem 0}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.card{border:1px solid var(--line);border-left:.4rem solid var(--soft);border-radius:.5rem;background:var(--tint);padding:.9rem 1.1rem;margin:1rem 0}
.card>strong{font-size:1.1rem}.yes{border-left-color:var(--good);background:var(--good-tint)}.yes>strong{color:var(--good)}.no{border-left-color:var(--bad);background:var(--bad-tint)}.no>strong{color:var(--bad)}.doubt{border-left-color:var(--doubt);background:var(--doubt-tint)}.doubt>strong{color:var(--doubt)}
.wide{max-width:84rem}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:0 1rem}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.92rem}th,td{text-align:left;vertical-align:top;padding:.45rem .7rem .45rem 0;border-bottom:1px solid var(--line)}th{color:var(--soft);font-weight:600}td.number{font-variant-numeric:tabular-nums}td code{white-space:normal}
ol.timeline{list-style:none;margin:0;padding:0 0 0 1.1rem;border-left:2px solid var(--line)}
.timeline>li{position:relative;padding:0 0 1rem}.timeline>li::before{content:"";position:absolute;left:-1.48rem;top:.45rem;width:.65rem;height:.65rem;border-radius:50%;background:var(--paper);border:2px solid var(--soft)}
.timeline>li.good::before{background:var(--good);border-color:var(--good)}.timeline>li.bad::before{background:var(--bad);border-color:var(--bad)}.timeline>li.doubt::before{background:var(--doubt);border-color:var(--doubt)}
.timeline .day{font-weight:600;margin:0 0 .5rem}.what{font-weight:600}.timeline ol.timeline{margin-top:.6rem}
details{margin:.25rem 0}summary{cursor:pointer;color:var(--blue)}summary:focus-visible,a:focus-visible{outline:3px solid var(--blue);outline-offset:2px}
ul.plain{padding-left:1.2rem;margin:.4rem 0}ul.plain>li+li{margin-top:.5rem}dl.data{margin:.2rem 0;grid-template-columns:minmax(6rem,max-content) 1fr;font-size:.92rem}.card dl{margin:.4rem 0 0}.piece{border-left:2px solid var(--line);padding:.1rem 0 .1rem .9rem;margin:.9rem 0}footer{color:var(--soft);font-size:.88rem;padding-bottom:3rem;margin-top:3rem}
@media(max-width:36rem){dl,dl.data{grid-template-columns:1fr;gap:0}dd{margin-bottom:.6rem}dl.data dl.data{padding-left:.7rem}.scroll{overflow:visible}table,tbody,tr,td{display:block}thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}tr{border:1px solid var(--line);border-radius:.5rem;background:var(--tint);padding:.5rem .8rem;margin:.6rem 0}td{display:grid;grid-template-columns:7.5rem 1fr;gap:.6rem;border:0;padding:.15rem 0;overflow-wrap:anywhere}td::before{content:attr(data-label);color:var(--soft)}}
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--paper:#fff;--tint:#fff;--blue:#000}body{font-size:10.5pt}header,main,footer{max-width:none;padding:0}.scroll{overflow:visible}table{font-size:8.5pt}h2,h3{break-after:avoid}.card,.timeline>li,tr{break-inside:avoid}details:not([open])>:not(summary){display:none}}
`.trim()

/** Formats an instant in Brasilia time, `20/11/2026 09:00:00`. */
export function formatInBrasilia(at: Instant): string {
  const ms = Date.parse(at)
  return Number.isNaN(ms) ? at : formatBrasilia(ms).replaceAll('-', '/')
}

/** A CNPJ as people write it. */
export function showCnpj(cnpj: string): string {
  return cnpj.replace(/^(..)(...)(...)(....)(..)$/, '$1.$2.$3/$4-$5')
}

/** Writes an instant in Brasilia time; in UTC it is its title. */
export function showInstant(at: Instant | null, labels: Labels): Html {
  if (at === null || at === '') return html`<span class="none">${labels.none}</span>`
  return html`<time datetime="${at}" title="${at.slice(0, 19).replace('T', ' ')} UTC">${formatInBrasilia(at)}</time>`
}

import { type Html, html } from './html.ts'
import type { Labels } from './labels.ts'

/** Shows rows under headings; says so where there are none. */
export function showTable(
  caption: string,
  headings: readonly string[],
  rows: readonly (readonly (Html | string | number | null)[])[],
  labels: Labels,
): Html {
  if (rows.length === 0) return html`<p class="none">${labels.nothing}</p>`
  return html`<div class="scroll" role="region" aria-label="${caption}" tabindex="0"><table>
<thead><tr>${headings.map(text => html`<th scope="col">${text}</th>`)}</tr></thead>
<tbody>
${rows.map(cells => html`<tr>${cells.map(cell => html`<td>${cell ?? labels.none}</td>`)}</tr>\n`)}</tbody></table></div>`
}

import { pageStyle } from '../pages/document.ts'

/** The style of the console: that of the reports, and what only the console has. */
export const consoleStyle = `${pageStyle}
.skip{position:absolute;left:-100vw}.skip:focus{position:static}
.top{max-width:84rem;padding-top:.75rem}.top nav ul{display:flex;flex-wrap:wrap;gap:.25rem .9rem;list-style:none;margin:.4rem 0;padding:0}
a{color:var(--blue)}a[aria-current]{font-weight:700;text-decoration:none}
.tiles{display:grid;grid-template-columns:repeat(auto-fill,minmax(14rem,1fr));gap:.75rem;list-style:none;padding:0}
.tiles a{display:block;height:100%;border:1px solid var(--line);border-radius:.5rem;background:var(--tint);padding:.7rem .9rem;color:var(--ink);text-decoration:none}.tiles strong{display:block;font-size:1.3rem}
form.filter{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;margin:.6rem 0}form.act{display:inline-flex;flex-wrap:wrap;gap:.4rem;align-items:end;margin:.15rem .4rem .15rem 0}
label{max-width:100%}form.filter label,form.act label{display:grid;grid-template-columns:minmax(0,1fr);gap:.15rem;color:var(--soft);font-size:.85rem}form.filter label:has([type=checkbox]){display:flex;align-items:center;gap:.4rem;min-height:2.1rem}form.filter input:not([type=checkbox]),form.filter select,form.act input{font-size:1rem;color:var(--ink);min-height:2.1rem}form.filter button,form.act button{min-height:2.1rem}input,select,button{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--soft);border-radius:.35rem;padding:.2rem .5rem;max-width:100%}button{background:var(--tint);cursor:pointer}
input:focus-visible,select:focus-visible,button:focus-visible,.scroll:focus-visible{outline:3px solid var(--blue);outline-offset:2px}
.known input[type=range]{flex:1 1 12rem;padding:0}.bad{color:var(--bad)}meter{width:8rem}
.chart ul{list-style:none;margin:.3rem 0 .3rem .4rem;padding:0;display:grid;gap:.4rem}.chart ul.plain{display:block;padding-left:1rem}
.chart li.state{border:1px dashed var(--line);border-radius:.5rem;padding:.4rem .7rem;background:var(--paper)}.chart li.visited{border:1px solid var(--soft)}.chart li.active{border:2px solid var(--good);background:var(--good-tint)}
.chart li.parallel>ul{grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr))}mark{background:var(--good);color:var(--paper);border-radius:.3rem;padding:0 .4rem}
tr.new{background:var(--doubt-tint)}
`

/** The script of the console: new events of an open log, and the slider over the log. Everything else works without. */
export const consoleScript = `
const everyMs = 2000
const log = document.getElementById('log')
const live = document.querySelector('[data-live]')
async function look() {
  if (live.checked && !document.hidden && !new URLSearchParams(location.search).has('before')) {
    const query = new URLSearchParams(location.search)
    query.set('after', log.dataset.last)
    const answer = await fetch('log/rows?' + query).catch(() => undefined)
    const made = document.createElement('div')
    if (answer && answer.ok) made.innerHTML = await answer.text()
    const rows = made.querySelectorAll('tbody tr')
    if (rows.length > 0) log.dataset.last = rows[0].cells[0].textContent
    for (const row of rows) row.className = 'new'
    const shown = log.querySelector('tbody')
    if (shown) shown.prepend(...rows)
    else if (rows.length > 0) log.replaceChildren(...made.childNodes)
  }
  setTimeout(look, everyMs)
}
if (log) setTimeout(look, everyMs)
for (const slider of document.querySelectorAll('[data-known]'))
  slider.addEventListener('input', () => {
    slider.form.elements.known.value = slider.value
  })
`

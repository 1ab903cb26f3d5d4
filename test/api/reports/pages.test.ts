import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ConsentReport, SubjectReport } from '../../../src/index.ts'
import { writeConsentPage } from '../../../src/pages/consent-page.ts'
import { writeSubjectPage } from '../../../src/pages/subject-page.ts'
import { olderSubtle, openPage, scriptOf } from '../../support/open-page.ts'
import { createReportedWorld, golden } from '../../support/reported-world.ts'

const { subtle } = globalThis.crypto

/** The reports of one world, as objects and as pages. */
async function createReports() {
  const { world, which, unawareAt } = await createReportedWorld()
  const { subjects, audit } = world.averba
  const read = async (format: 'json' | 'html') => ({
    subject: await subjects.report({ cpf: world.samples.cpf }, { format }),
    consent: await audit.prove({ consent: which, at: unawareAt }, { format }),
  })
  const [json, html] = [await read('json'), await read('html')]
  const subject: SubjectReport = JSON.parse(json.subject)
  const consent: ConsentReport = JSON.parse(json.consent)
  await world.close()
  return { subject, consent, html }
}

const { subject, consent, html } = await createReports()

/**
 * Leaves out what changes without a change of the page: compilers format the script's functions in their own way, and
 * the proof changes with every header, such as the machine tables in the first one.
 */
function withoutScript(page: string): string {
  return page
    .replace(scriptOf(page) ?? '-', '…')
    .replace(/script-src &#39;[^&]+&#39;/, 'script-src …')
    .replace(/(<pre[^>]*>)[^<]*/g, '$1…')
    .replace(/(id="proof">)[^<]*/, '$1…')
}

test('the same report gives the same page', async () => {
  expect(writeSubjectPage(subject)).toBe(html.subject)
  expect(writeConsentPage(consent)).toBe(html.consent)
  await expect(withoutScript(html.subject)).toMatchFileSnapshot(golden('subject.pt-BR.html'))
  await expect(withoutScript(html.consent)).toMatchFileSnapshot(golden('consent.pt-BR.html'))
  expect(writeConsentPage({ ...consent, language: 'en' })).toContain('<html lang="en">')
})

test('a page loads nothing, and its policy allows only its own style and script', async () => {
  for (const page of [html.subject, html.consent]) {
    expect(page).not.toMatch(/\b(?:src|href|action|srcset)=|url\(|@import|https?:|\son\w+=|\sstyle=/)
    const policy = /Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1]?.replaceAll('&#39;', "'")
    const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
    const style = /<style>([\s\S]*?)<\/style>/.exec(page)?.[1] ?? ''
    const script = scriptOf(page)
    const allowed = script === undefined ? '' : ` script-src ${hashOf(script)};`
    expect(policy).toBe(`default-src 'none'; style-src ${hashOf(style)};${allowed} base-uri 'none'; form-action 'none'`)
  }
  expect(scriptOf(html.subject)).toBeUndefined()
})

const hostile = `"'><img src=x onerror=alert(1)></script></pre><script>alert(1)</script><!--&amp;\u202e`

/** Replaces every text by the hostile one. */
function poison<T>(value: T): T {
  if (typeof value === 'string') return hostile as T // `T` is string here.
  if (Array.isArray(value)) return value.map(poison) as T // Same shape.
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, poison(each)])) as T // As above.
}

test('text from outside never becomes markup', async () => {
  const value = { nome: 'Maria', lista: [true, null, 3] }
  const data = [{ kind: 'validation.requested/claims', label: 'Dados enviados', position: 1, at: '', value }]
  const revealed = { ...subject, organisation: { name: 'Loja', contact: 'x@loja.exemplo.br' }, data }
  const kept = { language: 'pt-BR' } as const
  const poisoned = writeConsentPage({ ...poison(consent), ...kept })
  for (const [page, honest] of [
    [writeSubjectPage({ ...poison(revealed), ...kept }), writeSubjectPage(revealed)],
    [poisoned, html.consent],
  ] as const) {
    const bodyOf = (text: string) => text.replace(scriptOf(text) ?? '-', '')
    const tags = (text: string) => text.match(/<(?:\/?\w+|!)/g) ?? []
    const known = new Set(tags(honest))
    expect(tags(bodyOf(page)).filter(tag => !known.has(tag))).toEqual([])
    expect(bodyOf(page).split('<script')).toHaveLength(bodyOf(honest).split('<script').length)
    expect(bodyOf(page)).toContain('&lt;img src=x onerror=alert(1)&gt;')
  }
  expect(JSON.parse(openPage(poisoned).textOf('proof'))).toEqual(poison(consent.proof))
})

test('invisible characters and text direction marks are shown as their code', async () => {
  const codes = [0, 7, 0x1b, 0x85, 0xad, 0x34f, 0x61c, 0x115f, 0x180e, 0x200b, 0x200f, 0x2028, 0x2029]
  codes.push(0x202e, 0x2060, 0x2066, 0xd800, 0xfe0f, 0xfeff, 0xfff9, 0xe0041)
  for (const code of codes) {
    const char = String.fromCodePoint(code)
    const escaped = char.split('').map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    const page = writeConsentPage({ ...consent, consent: `a${char}b` })
    expect(page, code.toString(16)).toContain(`<code>a${escaped.join('')}b</code>`)
  }
  expect(writeConsentPage({ ...consent, consent: 'São\tJoão\n€ 𝒜 日本' })).toContain('<code>São\tJoão\n€ 𝒜 日本</code>')
})

test('the script of a page checks its own page and finds changes', async () => {
  const { events } = consent.proof
  const right = await openPage(html.consent).run(subtle)
  expect(right).toMatchObject({ className: 'card yes' })
  expect(right.text).toContain('A prova confere')
  expect(right.text).toContain(`${events.length} / ${events.length}`)

  const forged = events.map((each, i) => (i === 1 ? { ...each, header: each.header.replace('ATIVO', 'NEGADO') } : each))
  expect(forged).not.toEqual(events)
  const proof = { ...consent.proof, events: forged }
  const wrong = await openPage(writeConsentPage({ ...consent, proof })).run(subtle)
  expect(wrong).toMatchObject({ className: 'card no' })
  expect(wrong.text).toContain('A prova NÃO confere')

  // Only the displayed text is changed; the proof is still right.
  const painted = html.consent.replace('&quot;status&quot;:&quot;ATIVO&quot;', '&quot;status&quot;:&quot;NEGADO&quot;')
  expect(painted).not.toBe(html.consent)
  const differing = await openPage(painted).run(subtle)
  expect(differing).toMatchObject({ className: 'card no' })
  expect(differing.text).toContain('NÃO é o que está na prova')
})

test('a page with another key or checkpoint, other bytes or missing checks says so', async () => {
  const page = html.consent
  const events = [...page.matchAll(/<pre data-position="\d+">[\s\S]*?<\/pre>/g)].map(([piece]) => piece)
  const [one = ''] = events.slice(-2)
  const bytes = one.slice(one.indexOf('>') + 1)
  const forgeries: Record<string, string> = {
    'another key': page.replace(/(<pre data-shown="key">)[^<]*/, '$1outra.exemplo+0badc0de+AbCdEf'),
    'another checkpoint': page.replace(/(<pre data-shown="checkpoint">)[^<]*/, '$1outra.exemplo'),
    'a key that is not named': page.replace(' data-shown="key"', ''),
    'other bytes that are not named': page.replace(one, `<pre>${bytes.replace('position', 'other')}`),
    'an event that is left out': page.replace(one, ''),
    'no event at all': writeConsentPage({ ...consent, proof: { ...consent.proof, events: [] } }),
  }
  for (const [what, forged] of Object.entries(forgeries)) {
    expect(forged, what).not.toBe(page)
    expect(await openPage(forged).run(subtle), what).toMatchObject({ className: 'card no' })
  }
})

test('a page that cannot check says what it did not check', async () => {
  const none = await openPage(html.consent).run(undefined)
  expect(none).toMatchObject({ className: 'card doubt' })
  expect(none.text).toContain('A prova não foi conferida')
  const partly = await openPage(html.consent).run(olderSubtle)
  expect(partly).toMatchObject({ className: 'card doubt' })
  expect(partly.text).toContain('não conhece Ed25519')
})

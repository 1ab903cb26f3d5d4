import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { answerRules, declaredMeaning, formOf, meaningOf, ownForms } from '../../../src/adapters/http/answer-meaning.ts'
import { foreignAdvice, foreignCodes } from '../../../src/vocabulary/foreign-answer.ts'
import { type ServiceName, serviceNames } from '../../../src/vocabulary/names.ts'
import { root } from '../../support/run-script.ts'

const nginx = (title: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`
const problem = '{"type":"about:blank","title":"Requisição inválida","status":400}'
const xmlFault = '<ams:fault xmlns:ams="x"><ams:code>900901</ams:code></ams:fault>'

const seen = (status: number, text: string, headers = {}) => ({ status, text, headers: new Headers(headers) })

test.each([
  ['problem', problem],
  ['problem', '{"detail":"x","status":400}'],
  ['json', '{"detail":"Not Found"}'],
  ['json', '{"type":"error","message":"x"}'],
  ['json', '{"status":404,"error":"Not Found","path":"/v1"}'],
  ['json', '[{"codigo":1}]'],
  ['fault', xmlFault],
  ['fault', `<?xml version="1.0"?>\n<fault><code>1</code></fault>`],
  ['html', nginx('404 Not Found')],
  ['html', '<!DOCTYPE HTML PUBLIC "-//IETF//DTD HTML 2.0//EN">'],
  ['html', '<h1>It works</h1>'],
  ['empty', ' \r\n'],
  ['other', 'Bad Gateway'],
  ['other', '"text"'],
  ['other', '[1]'],
  ['other', '<note/>'],
])('the form of a body is told: %s', (form, text) => expect(formOf(seen(400, text))).toBe(form))

test('a problem is told by its content type too', () => {
  const headers = { 'content-type': 'application/Problem+JSON;charset=utf-8' }
  expect(formOf(seen(400, '{"status":400}', headers))).toBe('problem')
})

const everywhere = (meaning: string) => Object.fromEntries(serviceNames.map(service => [service, meaning]))
const astray = everywhere('SERVICE_MISDIRECTED')
const declined = everywhere('declined')
const astrayOfConsents = { ...declined, consentService: 'SERVICE_MISDIRECTED' }

test.each<[string, ReturnType<typeof seen>, Record<string, string>]>([
  ['a problem', seen(400, problem), declined],
  ['a JSON object', seen(404, '{"message":"no Route matched"}'), astrayOfConsents],
  ["a gateway's fault", seen(403, xmlFault), astrayOfConsents],
  ['a page with 401', seen(401, nginx('401 Authorization Required')), astray],
  ['a page with 403', seen(403, nginx('403 Forbidden')), astray],
  ['a page with 404', seen(404, nginx('404 Not Found')), astray],
  ['a page with 413', seen(413, nginx('413 Request Entity Too Large')), astray],
  ['nothing with 404', seen(404, ''), astray],
  ['a bad client certificate', seen(400, nginx('400 The SSL certificate error')), everywhere('CERTIFICATE_REFUSED')],
  ['no certificate', seen(400, nginx('400 No required SSL certificate was sent')), everywhere('CERTIFICATE_REFUSED')],
  ['495', seen(495, ''), everywhere('CERTIFICATE_REFUSED')],
  ['496', seen(496, nginx('x')), everywhere('CERTIFICATE_REFUSED')],
  ['407', seen(407, ''), everywhere('PROXY_REFUSED')],
  ['a page of Squid', seen(403, '<html>', { 'x-squid-error': 'ERR_ACCESS_DENIED 0' }), everywhere('PROXY_REFUSED')],
  ['a page with 502', seen(502, nginx('502 Bad Gateway')), everywhere('unknown')],
  ['a page with 429', seen(429, nginx('429')), everywhere('deferred')],
  ['503 with a wait', seen(503, '', { 'retry-after': '5' }), everywhere('deferred')],
  ['503 without one', seen(503, problem), everywhere('unknown')],
  ['408', seen(408, problem), everywhere('unknown')],
  ['a redirect', seen(302, ''), everywhere('unknown')],
])('the table tells for each service what %s means', (_, answer, expected) => {
  const told = Object.fromEntries(serviceNames.map(service => [service, meaningOf(answer, service)]))
  expect(told).toEqual(expected)
})

test('what a host declares of an answer is told by its status and a text in it', () => {
  const declared = [{ status: 404, contains: 'inexistente', means: 'declined' }] as const
  const answer = seen(404, '<html>registro inexistente</html>')
  expect(declaredMeaning(answer, declared)).toBe('declined')
  expect(declaredMeaning(seen(404, nginx('404')), declared)).toBeUndefined()
  expect(declaredMeaning({ ...answer, status: 410 }, declared)).toBeUndefined()
})

test('a call that is sent only once is never sent again for what somebody else says', () => {
  const meanings = (answer: ReturnType<typeof seen>) =>
    [false, true].map(isOnce => meaningOf(answer, 'validationService', isOnce))
  expect(meanings(seen(429, nginx('429')))).toEqual(['deferred', 'SERVICE_MISDIRECTED'])
  expect(meanings(seen(503, '', { 'retry-after': '5' }))).toEqual(['deferred', 'unknown'])
  expect(meanings(seen(429, '{}'))).toEqual(['deferred', 'deferred'])
  expect(meanings(seen(503, '{}', { 'retry-after': '5' }))).toEqual(['deferred', 'deferred'])
})

const documentOf = (name: ServiceName) => (name === 'consentService' ? 'document 1, section 7' : 'our policy')

test('the page about answers shows the tables', async () => {
  const statuses = ([from, to]: readonly [number, number]) => (from === to ? `${from}` : `${from} to ${to}`)
  const rows = answerRules.map(({ statuses: range, headers = [], isOwn, isRepeatable, contains, means }) => {
    const conditions = [
      headers.length > 0 && `a header ${headers.map(name => `\`${name}\``).join(' or ')}`,
      isOwn && "a body in the service's own form",
      isRepeatable && 'a call that is not sent only once',
      contains !== undefined && `a body with "${contains}"`,
    ].filter(Boolean)
    return `| ${statuses(range)} | ${conditions.join(', ') || 'any'} | \`${means}\` |`
  })
  const own = serviceNames.map(name => `| \`${name}\` | ${ownForms[name].join(', ')} | ${documentOf(name)} |`)
  const codes = foreignCodes.map(code => `| \`${code}\` | ${foreignAdvice[code]} |`)
  const file = join(root, 'docs/answers.md')
  let page = readFileSync(file, 'utf8')
  for (const [head, lines] of [
    ['| status | and | meaning |', rows],
    ['| service | own forms | from |', own],
    ['| code | what to do |', codes],
  ] as const) {
    const [before = '', after = 'no table'] = page.split(`\n${head}\n`)
    const [line = '', ...rest] = after.split(/^(?!\|)/m)
    page = [before, head, line.split('\n')[0], ...lines, rest.join('')].join('\n')
  }
  await expect(page).toMatchFileSnapshot(file)
})

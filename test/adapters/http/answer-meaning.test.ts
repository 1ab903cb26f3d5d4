import { expect, test } from 'vitest'
import { answerRules, declaredMeaning, formOf, meaningOf, ownForms } from '../../../src/adapters/http/answer-meaning.ts'
import { foreignAdvice, foreignCodes } from '../../../src/vocabulary/foreign-answer.ts'
import { type ServiceName, serviceNames } from '../../../src/vocabulary/names.ts'

const nginx = (title: string) =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n</body>\r\n</html>\r\n`
const problem = '{"type":"about:blank","title":"Requisição inválida","status":400}'
const xmlFault = '<ams:fault xmlns:ams="x"><ams:code>900901</ams:code></ams:fault>'

const seen = (status: number, text: string, headers: Record<string, string> = {}) => ({
  ...{ status, text },
  headers: new Headers(headers),
})

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
])('the form of a body is told: %s', (form, text) => {
  expect(formOf(seen(400, text))).toBe(form)
})

test('a problem is told by its content type too', () => {
  expect(formOf(seen(400, '{"status":400}', { 'content-type': 'application/Problem+JSON;charset=utf-8' }))).toBe(
    'problem',
  )
})

const everywhere = (meaning: string) => Object.fromEntries(serviceNames.map(service => [service, meaning]))
const astray = everywhere('SERVICE_MISDIRECTED')
const declined = everywhere('declined')

test.each<[string, ReturnType<typeof seen>, Record<string, string>]>([
  ['a problem', seen(400, problem), declined],
  [
    'a JSON object',
    seen(404, '{"message":"no Route matched"}'),
    { ...declined, consentService: 'SERVICE_MISDIRECTED' },
  ],
  ["a gateway's fault", seen(403, xmlFault), { ...declined, consentService: 'SERVICE_MISDIRECTED' }],
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

const documents: Record<ServiceName, string> = {
  consentService: 'document 1, section 7',
  tokenService: 'our policy',
  validationService: 'our policy',
  portal: 'our policy',
}

test('the page about answers shows the table', async () => {
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
  const own = serviceNames.map(name => `| \`${name}\` | ${ownForms[name].join(', ')} | ${documents[name]} |`)
  const codes = foreignCodes.map(code => `| \`${code}\` | ${foreignAdvice[code]} |`)
  const page = [
    '# Answers',
    '',
    'What an answer of a service, or of something in between, means for a call. This page is made from the code.',
    '',
    'A success that can be read settles a call. For every other answer the first row that holds counts (`answers-1`):',
    '',
    ...['| status | and | meaning |', '| --- | --- | --- |', ...rows],
    '',
    "An answer is the service's own when its body has one of these forms. `problem` is RFC 9457: JSON with two of the",
    'members `type`, `title`, `detail` and `status`, or with that content type. `json` is any other object, or a list that begins with one.',
    "`fault` is a gateway's fault in XML. A body above 65,536 characters has none of these forms.",
    '',
    ...['| service | own forms | from |', '| --- | --- | --- |', ...own],
    '',
    'A refusal of a token request counts as one only if it is about the credentials ([validations.md](validations.md)).',
    'A 401 of a validation renews the token once, in any form, and the call is sent again. A second one in the own form',
    "defers it (`CALL_UNAUTHORIZED`), and the call rejects no further token before that token's end: others, which may be",
    'answered, need it. One in another form counts by the table: the second, and the first when there is no newer token. A',
    '401 that is in `answers` means what they say, and nothing about the token.',
    '',
    '| meaning | a reading | a change that can be read back | a validation |',
    '| --- | --- | --- | --- |',
    '| `declined` | declined | declined | declined |',
    '| `deferred` | tried again | tried again | tried again |',
    '| `unknown` | tried again | read back | unknown: a person decides |',
    '| any code below | tried again | tried again | unknown: a person decides; `CALL_UNAUTHORIZED` tried again |',
    '',
    'After an answer with a code a call waits for a minute, and then up to a quarter of an hour. It is parked after a day, a',
    'denial or revocation after 30, and token requests and recurring readings never. A denial or revocation waits up to an',
    'hour after twenty attempts. The log says once for each operation that somebody else answers it, and the check `effects`',
    'is red while such calls wait. `doctor` sends each service a `GET /`: an answer in another form is reported, unless it is',
    'a success, 404 or 405, or in `answers`.',
    '',
    ...['| code | what to do |', '| --- | --- |', ...codes],
    '',
    'The beginning of an answer that was not understood is sealed with the event that records it, under the key of whom',
    'the call is about, without what was sent, and without the values of members such as `access_token`. Of several in a',
    'row the first is kept. `effects.get(id)` shows it as `unread`, with long numbers masked; that to a validation in doubt',
    'is with the validation. Of a success of the token service or the portal only the form is kept. The retention of',
    '`call.answer` destroys it. `averba_answers_unread_total` counts such answers.',
    '',
    'If a service has forms of its own that are not here, name them in its option `answers`: they come before the table.',
    '`status` is 300 to 599, and `means` is `declined`, `deferred` or `unknown`. Without `contains` every body of that status',
    'counts, also the page of a gateway.',
    '',
    '```ts',
    "answers: [{ status: 404, contains: 'registro inexistente', means: 'declined' }]",
    '```',
    '',
  ]
  await expect(page.join('\n')).toMatchFileSnapshot('../../../docs/answers.md')
})

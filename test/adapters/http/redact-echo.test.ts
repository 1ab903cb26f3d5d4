import { expect, test } from 'vitest'
import { redactEcho } from '../../../src/adapters/http/redact-echo.ts'
import { cpuMs } from '../../support/cpu-ms.ts'

const url = 'https://portal.exemplo.br/consentimentos/25774435016/a'
const key = 'ch"a/ve <ç> &1'
const request = () =>
  new Request(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      authorization: `Basic ${Buffer.from('consumidor:segredo-1').toString('base64')}`,
      'client-secret': 'SEGREDO+2',
      cookie: 'JSESSIONID=sessao-3; idioma=pt',
      'x-key': 'abcd',
    },
  })

test.each([
  ['a header, and its word', 'key: Y29uc3VtaWRvcjpzZWdyZWRvLTE=!', 'key: ***!'],
  ['the credentials of Basic', 'user consumidor, password segredo-1', 'user ***, password ***'],
  ['a host’s own header', 'SEGREDO+2 / SEGREDO%2B2 / segredo+2', '*** / *** / ***'],
  ['the same in letters that differ in case only', '\u{17F}EGREDO+2', '***'],
  ['a cookie', 'session sessao-3 is over', 'session *** is over'],
  ['a short secret as a whole word', 'abcd (abcd) abcde', '*** (***) abcde'],
  ['a member of the body', `rejected [${key}]`, 'rejected [***]'],
  ['the same in JSON', JSON.stringify({ title: `[${key}]` }), '{"title":"[***]"}'],
  ['the same in JSON in JSON', JSON.stringify(JSON.stringify(key)), '"\\"***\\""'],
  ['the same in ASCII', 'ch\\u0022a\\/ve\\u0020\\u003c\\u00e7\\u003E &1', '***'],
  ['the same in XML', '[ch&quot;a/ve &lt;ç&gt; &amp;1]', '[***]'],
  ['the same in an address', encodeURIComponent(key), '***'],
  ['another form of that address', encodeURIComponent(key).replaceAll('%20', '+').toLowerCase(), '***'],
  ['a letter that differs from an ASCII one in case only, in an address', 'ab%E2%84%AAcd', '***'],
  ['another of the body', 'autenticacao-4', '***'],
  ['a CPF of the body', '529.982.247-25', '***'],
  ['a CPF', '25774435016, 257.744.350-16, 257744350-16, 257 744 350 16', '***, ***, ***, ***'],
  ['a CPF in an address', '257%2E744%2E350%2D16', '***'],
  ['nothing else', 'application/json Basic due: PLAT-ER1', 'application/json Basic due: PLAT-ER1'],
])('masks in an answer what was sent: %s', (_, answered, shown) => {
  const hide = redactEcho(request(), [key, 'autenticacao-4', 'ab\u{212A}cd', '52998224725'])
  expect(hide(answered)).toBe(shown)
})

const maxMs = 200
const words = Array.from({ length: 1_000 }, (_, i) => `a${String(i).padStart(3, '0')}`)

test.each([
  ['one letter', `${'a'.repeat(4_000)}b`, 'a'],
  ['two characters', `${'a-'.repeat(2_000)}b`, 'a-'],
  ['many words', words.join('='), 'a000'],
  ['backslashes', `${'\\'.repeat(4_000)}b`, '\\'],
  ['what looks escaped', `${'%41'.repeat(1_300)}b`, '%41'],
  ['escapes of what looks escaped', `${'%'.repeat(4_000)}b`, '%25'],
  ['entities', `${'&'.repeat(4_000)}b`, '&amp;'],
])('a token and an answer that repeat %s do not hold up the process', async (_, token, repeated) => {
  const hide = redactEcho(new Request(url, { headers: { authorization: `Bearer ${token}` } }), ['00000000191'])
  const text = repeated.repeat(1_000_000 / repeated.length)
  expect(await cpuMs(() => hide(`${text}${token}`), maxMs)).toBeLessThan(maxMs)
  expect(hide(`${text}${token}`)).not.toContain(token)
})

test('a long token is masked in a long answer, and nothing else', async () => {
  const token = Buffer.from(Array.from({ length: 6_000 }, (_, i) => (i * i * 7) % 251)).toString('base64url')
  const hide = redactEcho(new Request(url, { headers: { authorization: `Bearer ${token}` } }))
  const page = '<p class="a">Não autorizado: 401 &amp; 403</p>\r\n'.repeat(20_000)
  expect(await cpuMs(() => hide(`${page}${token}${page}`), maxMs)).toBeLessThan(maxMs)
  expect(hide(`${page}${token}${page}`)).toBe(`${page}***${page}`)
})

test('an answer whose digits may be read in many ways as a CPF does not hold up the process', async () => {
  const hide = redactEcho(new Request(url), ['00000000191'])
  expect(await cpuMs(() => hide('0%000%00'.repeat(100_000)), maxMs)).toBeLessThan(maxMs)
  expect(hide(`0${'%000'.repeat(7)}%00191`)).toBe('***')
})

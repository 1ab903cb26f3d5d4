import { expect, test } from 'vitest'
import { readProblem } from '../../src/adapters/http/answer-body.ts'
import { readFailures } from '../../src/adapters/portal/protocol.ts'
import { readToken } from '../../src/adapters/token/protocol.ts'
import { parseJson, parseRecords } from '../../src/vocabulary/json.ts'

test.each([
  ['two members of one name', '{"status":"ATIVO","status":"REVOGADO"}'],
  ['the same in a member', '{"a":[{"b":{"c":1,"d":2,"c":1}}]}'],
  ['a name that is written in two ways', '{"a":1,"\\u0061" :2}'],
  ['two empty names', '{"":1,"":2}'],
  ['a name that ends with a backslash', '{"\\\\":"\\\\","\\\\"\n:1}'],
  ['__proto__ twice', '{"__proto__":1,"__proto__":2}'],
])('JSON is not believed with %s', (_, text) => {
  expect(JSON.parse(text)).toBeDefined()
  expect(parseJson(text)).toBeUndefined()
})

test.each([
  ['one name in two objects', '[{"a":{"a":[{"a":1},{"a":2}]}},{"a":3}]'],
  ['a name as a text', '{"a":"a","b":["a","a","b"],"c":"a\\":"}'],
  ['no object', '"a"'],
])('JSON is believed with %s', (_, text) => {
  expect(parseJson(text)).toEqual(JSON.parse(text))
})

test('the ambiguous records of a list are found, and hide no others', async () => {
  const text = '[{"id":1},{"id":2,"x":[1,{"y":",","y":0}]}, 3 ,{"id":4,"id":5}]'
  expect([...parseRecords(text)].map(({ isAmbiguous }) => isAmbiguous)).toEqual([false, true, false, true])
  const more = '{"id":2,"id":3,"evento":"b","data":null},{"id":4,"evento":"c","data":null}'
  const failures = await readFailures(`[{"id":1,"evento":"a","data":null},${more}]`)
  expect(failures?.items.map(({ remoteId }) => remoteId)).toEqual([1, 4])
  expect(failures?.unreadable).toEqual([{ id: 3, evento: 'b', data: null }])
})

test('neither a token nor a code is read from an ambiguous answer', () => {
  expect(readToken('{"access_token":"a","expires_in":1}')).toEqual({ value: 'a', lifetimeMs: 1_000, scope: null })
  expect(readToken('{"access_token":"a","access_token":"b"}')).toBeUndefined()
  expect(readProblem(422, '{"code":"A","code":"B"}')).toEqual({ status: 422 })
})

test('a value with more than a hundred thousand members is none', () => {
  const listOf = (count: number) => `[${Array.from({ length: count }, () => 0).join()}]`
  expect(parseJson(listOf(100_001))).toHaveLength(100_001)
  expect(parseJson(listOf(100_002))).toBeUndefined()
})

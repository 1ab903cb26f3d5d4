import { expect, test } from 'vitest'
import { HeaderForm } from '../../src/proof/header-form.ts'
import { Leaf } from '../../src/proof/leaf.ts'

const leaf = new Leaf()
const before = '{"before":"'
const behind = '","behind":true}'

function matches(form: HeaderForm, text: string): boolean {
  leaf.hold(text)
  return leaf.isPlain && form.match(leaf)
}

test('a text passes where JSON has it as it is written, whatever its length, and any character in any place', () => {
  const form = new HeaderForm([{ before, isText: true, slot: 0 }], behind)
  for (let length = 0; length <= 9; length++)
    for (let place = 0; place < length; place++)
      for (let code = 0; code <= 0x7f; code++) {
        const character = String.fromCharCode(code)
        const value = `${'x'.repeat(place)}${character}${'x'.repeat(length - place - 1)}`
        const isAsWritten = JSON.stringify(value) === `"${value}"`
        // Of an ended text, what follows is not what is fixed.
        expect(matches(form, `${before}${value}${behind}`), `${code} at ${place} of ${length}`).toBe(
          isAsWritten,
        )
        if (isAsWritten) expect(leaf.text.slice(form.begins[0], form.ends[0])).toBe(value)
      }
})

test('a number passes where it is a whole one of at most 15 digits, as JSON has it', () => {
  const form = new HeaderForm([{ before: '{"a":', isText: false, slot: 0 }], ',"b":0}')
  for (const good of ['0', '7', '-7', '10', '90', '123456789012345', '-123456789012345', '999999999999999']) {
    expect(matches(form, `{"a":${good},"b":0}`), good).toBe(true)
    expect(form.numbers[0]).toBe(Number(good))
  }
  const others = [
    '',
    '-',
    '-0',
    '00',
    '01',
    '-01',
    '+1',
    '1.0',
    '1e3',
    '1E3',
    ' 1',
    '1 ',
    '0x1',
    '/',
    ':',
    '"1"',
  ]
  for (const other of [...others, '1234567890123456', '-1234567890123456', '9007199254740993', '--1', '1-'])
    expect(matches(form, `{"a":${other},"b":0}`), other).toBe(false)
})

test('a leaf passes whole, and not when any of it is cut off, changed or added', () => {
  const form = new HeaderForm(
    [
      { before, isText: true, slot: -1 },
      { before: '","number":', isText: false, slot: 0 },
    ],
    ',"behind":true}',
  )
  const text = `${before}some text","number":12,"behind":true}`
  expect(matches(form, text)).toBe(true)
  for (let end = 0; end < text.length; end++) {
    // What the leaf before had behind it still stands there.
    expect(matches(form, text)).toBe(true)
    expect(matches(form, text.slice(0, end)), text.slice(0, end)).toBe(false)
  }
  for (const more of [' ', '}', '\0', 'x']) expect(matches(form, `${text}${more}`)).toBe(false)
  const places = Array.from(text, (_, at) => at)
  const fixed = places.filter(at => at < before.length || at > text.length - behind.length)
  for (const at of fixed)
    expect(matches(form, `${text.slice(0, at)}~${text.slice(at + 1)}`), `${at}`).toBe(false)
})

import { expect, test } from 'vitest'
import { Leaf } from '../../src/proof/leaf.ts'

test('a leaf is a zero byte and its text in UTF-8, however long it is, whatever it held before', () => {
  const leaf = new Leaf()
  for (const text of [
    'ç'.repeat(4_096),
    '',
    'ação \u{1f600}',
    '\u20ac'.repeat(4_096),
    'ç'.repeat(4_097),
    'x'.repeat(4_096),
    'x'.repeat(4_097),
    // As many bytes, in fewer characters.
    `ç${'x'.repeat(4_095)}`,
    'x'.repeat(40_000),
    'y'.repeat(4_096),
    'x',
    '\ud800',
  ]) {
    leaf.hold(text)
    expect(Buffer.from(leaf.bytes).equals(Buffer.from(`\0${text}`))).toBe(true)
    expect(leaf.text).toBe(text)
  }
})

test('a leaf is plain where each character is a byte, and a zero byte stands behind it', () => {
  const leaf = new Leaf()
  const isPlain = (text: string) => {
    leaf.hold(text)
    return leaf.isPlain
  }
  expect(isPlain('longer than the next')).toBe(true)
  expect(isPlain('plain')).toBe(true)
  expect(leaf.words.getUint8(1 + 'plain'.length)).toBe(0)
  expect(isPlain('plàin')).toBe(false)
  expect(isPlain('x'.repeat(4_096))).toBe(true)
  expect(isPlain('x'.repeat(4_097))).toBe(false)
})

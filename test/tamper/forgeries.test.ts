import { expect, test } from 'vitest'
import { tryForgeries } from './forgeries.ts'

test('whatever is forged without the keyring, the engine sends, uses and erases nothing for it, and verify finds it', async () => {
  const tried = await tryForgeries()
  expect(tried.length).toBeGreaterThan(15)
  expect(tried.filter(({ deeds }) => deeds.length > 0)).toEqual([])
  expect(tried.filter(({ found }) => found.length === 0)).toEqual([])
}, 60_000)

import { readFileSync } from 'node:fs'
import type { KeyringStore } from '../../src/index.ts'

/** The keyring of a store, read only. `before` is called before each reading. */
export const watchedKeyring = (store: string, before: () => unknown): KeyringStore => ({
  name: 'keyring of the test',
  async read() {
    await before()
    const text = readFileSync(`${store}.keys`, 'utf8')
    return { text, tag: text }
  },
  replace: async () => false,
})

import { expect, test } from 'vitest'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import type { Keyring } from '../../../src/vault/keyring.ts'
import type { OwnerKey } from '../../../src/vault/vault.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { appendOf } from '../append-of.ts'
import { withHooks } from '../watched.ts'

test('after an interrupted rotation, no key is cached under its old wrapping', async () => {
  let left = Number.POSITIVE_INFINITY
  const path = temporaryStore()
  const store = await openStore({
    path,
    medium: {
      open: async () =>
        withHooks(await openSqlite(path), {
          transact: async (steps, run) => {
            left -= 1
            if (left < 0) throw new AverbaError('STORE_BUSY', 'Cannot use the log: it is locked')
            return run(steps)
          },
        }),
      keyring: open => open(),
    },
  })
  let streams = 0
  const append = (owner: string) => {
    streams += 1
    return store.append(appendOf(`bench-${streams}`, 'none', [{ parts: { note: { owner, value: 'x' } } }]))
  }
  await append('subject-1')
  // Allows the keyring, the epoch, the secrets and one page of keys, but not the search for another page.
  left = 4
  await expect(store.owners.rotate(2)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  left = Number.POSITIVE_INFINITY
  expect(await store.owners.rotate(2)).toMatchObject({ epoch: 2, rewrapped: 0 })
  await store.owners.destroyEpochs([1])
  // As if there were very many other keys.
  store.vault.forget()
  expect(await append('subject-1')).toMatchObject({ status: 'appended' })
})

test('of two processes that rotate at once, each names the epoch that wraps every key', async () => {
  const path = temporaryStore()
  const first = await openStore({ path })
  let before: (() => Promise<unknown>) | undefined
  const raced = async () => {
    const race = before
    before = undefined
    await race?.()
  }
  const medium = {
    open: async () =>
      withHooks(await openSqlite(path), {
        read: async (steps, run) => {
          await raced()
          return run(steps)
        },
      }),
    keyring: (open: () => Promise<Keyring>) => open(),
  }
  const second = await openStore({ path, medium })
  before = () => first.owners.rotate(1)
  expect(await second.owners.rotate(1)).toEqual({ epoch: 2, previous: [1], rewrapped: 0 })
})

test('an erased person’s key is removed from memory, even if no other key is rewrapped', async () => {
  const path = temporaryStore()
  const store = await openStore({ path })
  const owner = 'subject-1'
  await store.append(appendOf(owner, 'none', [{ parts: { note: { owner, value: 'x' } } }]))
  const file = new Sqlite(path, { readOnly: true })
  const [key] = file.rows<OwnerKey>('select owner, epoch, wrapped, commitment from owner_key')
  const [part] = file.rows<{ sealed: Buffer }>('select sealed from part')
  file.close()
  if (!key || !part) throw new Error('Both are there')
  const open = () => store.vault.open(key, `${owner}/1/note`, part.sealed)
  expect(open()).toBe('x')
  const none = { indexEntries: [], commands: [], streams: [], kept: [], keepsKey: false }
  const person = { owner, subject: '1', until: 2, ...none }
  const destroys = { parts: [{ position: 2, name: 'note' }], person }
  await store.append(appendOf(owner, 1, [{ type: 'subject.erased' }], { destroys }))
  expect(await store.owners.rotate(3)).toMatchObject({ epoch: 2, rewrapped: 0 })
  await store.owners.destroyEpochs([1])
  expect(open).toThrow()
})

test('a secret is not sealed under an epoch that another process has destroyed', async () => {
  const path = temporaryStore()
  const [idle, other] = [await openStore({ path }), await openStore({ path })]
  const { previous } = await other.owners.rotate(2)
  await other.owners.destroyEpochs(previous)
  const secret = { generation: 1, value: 'session' }
  await idle.secrets.keep('portal', secret)
  expect(await other.secrets.find('portal')).toEqual(secret)
  await Promise.all([idle.close(), other.close()])
})

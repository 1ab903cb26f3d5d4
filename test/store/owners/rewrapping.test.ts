import { expect, test } from 'vitest'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import type { OwnerKey } from '../../../src/vault/vault.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { appendOf } from '../append-of.ts'
import { withHooks } from '../watched.ts'

/** Opens a store, and does something before each of its transactions or reads. */
async function openHooked(path: string, before: { transact?: () => unknown; read?: () => unknown }) {
  const open = async () =>
    withHooks(await openSqlite(path), {
      transact: async (steps, run) => {
        await before.transact?.()
        return run(steps)
      },
      read: async (steps, run) => {
        await before.read?.()
        return run(steps)
      },
    })
  return openStore({ path, medium: { open, keyring: create => create() } })
}

const noted = (owner: string) => [{ parts: { note: { owner, value: 'x' } } }]

test('after an interrupted rotation, no key is cached under its old wrapping', async () => {
  let left = Number.POSITIVE_INFINITY
  const store = await openHooked(temporaryStore(), {
    transact() {
      left -= 1
      if (left < 0) throw new AverbaError('STORE_BUSY', 'Cannot use the log: it is locked')
    },
  })
  await store.append(appendOf('bench-1', 'none', noted('subject-1')))
  // Allows the keyring, the epoch, the secrets and one page of keys, but not the search for another page.
  left = 4
  await expect(store.owners.rotate(2)).rejects.toMatchObject({ code: 'STORE_BUSY' })
  left = Number.POSITIVE_INFINITY
  expect(await store.owners.rotate(2)).toMatchObject({ epoch: 2, rewrapped: 0 })
  await store.owners.destroyEpochs([1])
  // As if there were very many other keys.
  store.vault.forget()
  expect(await store.append(appendOf('bench-2', 'none', noted('subject-1')))).toMatchObject({ status: 'appended' })
})

test('of two processes that rotate at once, each names the epoch that wraps every key', async () => {
  const path = temporaryStore()
  const first = await openStore({ path })
  let race = async (): Promise<unknown> => undefined
  const second = await openHooked(path, {
    read() {
      const racing = race
      race = async () => undefined
      return racing()
    },
  })
  race = () => first.owners.rotate(1)
  expect(await second.owners.rotate(1)).toEqual({ epoch: 2, previous: [1], rewrapped: 0 })
})

test('an erased person’s key is removed from memory, even if no other key is rewrapped', async () => {
  const path = temporaryStore()
  const store = await openStore({ path })
  const owner = 'subject-1'
  await store.append(appendOf(owner, 'none', noted(owner)))
  const sql = 'select owner_key.*, sealed from owner_key join part on part.owner = key'
  const [row] = useDatabase(path, file => file.rows<OwnerKey & { sealed: Buffer }>(sql))
  if (!row) throw new Error('It is there')
  const open = () => store.vault.open(row, `${owner}/1/note`, row.sealed)
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
})

import { CompiledQuery } from 'kysely'
import { expect, test } from 'vitest'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { first } from '../../../src/store/database/connection.ts'
import { createTables } from '../../../src/store/database/schema.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { digestKey } from '../../../src/store/log/keyed-index.ts'
import { RecentDigests } from '../../../src/store/writing/writer-cache.ts'
import { createKeyring } from '../../../src/vault/keyring.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { appendOf } from '../append-of.ts'
import { failing } from '../watched.ts'

const dayMs = Date.UTC(2031, 0, 1)

/** Opens a store whose commits fail while `state.fails`. */
async function given(path = ':memory:', keyring = createKeyring(systemEntropy)) {
  const state = { fails: false }
  const connection = failing(await openSqlite(path), () => state.fails)
  const store = await openStore({ medium: { open: async () => connection, keyring: async () => keyring } })
  const record = async (content: number, minute: number) => {
    const stream = store.vault.keyring.id + content + minute
    const about = { at: toInstant(dayMs + minute * minuteMs), recent: recentOf(content, minute) }
    return (await store.append(appendOf(stream, 'any', [{}], about))).status
  }
  const countRows = () => connection.readOnly(CompiledQuery.raw('select count(*) as n from recent_digest'))
  return { store, state, record, countRows, keyring }
}

function recentOf(content: number, minute: number) {
  return {
    digest: new Uint8Array([content >> 8, content & 255]),
    since: dayMs + (minute - 10) * minuteMs,
    until: dayMs + (minute + 10) * minuteMs,
  }
}

test('digests of a failed commit cause no conflict and hide no later digests of other processes', async () => {
  const path = temporaryStore()
  const first = await given(path)
  const second = await given(path, first.keyring)
  expect(await first.record(1, 0)).toBe('appended')
  first.state.fails = true
  await expect(first.record(2, 0)).rejects.toThrow('the commit failed')
  first.state.fails = false
  expect(await first.store.findRecent(recentOf(2, 0))).toBeUndefined()
  expect(await second.record(3, 0)).toBe('appended')
  expect(await first.record(3, 0)).toBe('conflict')
  expect(await first.record(2, 0)).toBe('appended')
  expect(await first.record(1, 0)).toBe('conflict')
})

test('rows of short-lived processes are deleted too', async () => {
  const path = temporaryStore()
  const keyring = createKeyring(systemEntropy)
  for (let day = 0; day < 12; day++) {
    const { store, record } = await given(path, keyring)
    await Promise.all(Array.from({ length: 100 }, (_, i) => record(day * 100 + i, day * 1_440)))
    await store.close()
  }
  const { record, countRows } = await given(path, keyring)
  expect(await record(2_000, 12 * 1_440)).toBe('appended')
  expect(await countRows()).toEqual([{ n: 301 }])
})

test('beyond 100,000 digests in ten minutes the oldest are deleted, in memory and in the table', async () => {
  const connection = closeAtEnd(await openSqlite(':memory:'))
  const [recents, later] = [new RecentDigests(), new RecentDigests()]
  const digestOf = (position: number) => Uint8Array.of(position >> 16, (position >> 8) & 255, position & 255)
  const recentAt = (position: number) => ({ digest: digestOf(position), since: dayMs, until: dayMs })
  const added = Array.from({ length: 100_002 }, (_, i) => {
    const seen = { ...recentAt(i + 1), position: i + 1, at: toInstant(dayMs) }
    return [digestKey(seen.digest), seen] as const
  })
  await connection.transact(function* () {
    for (const sql of createTables('sqlite')) yield { sql, parameters: [] }
    yield* recents.catchUp()
    yield* recents.add(new Map(added))
  })
  await connection.read(() => later.catchUp())
  for (const each of [recents, later])
    expect([2, 3, 100_002].map(position => each.findInMemory(recentAt(position)))).toEqual([undefined, 3, 100_002])
  const positions = { sql: 'select min(position) as low, count(*) as n from recent_digest', parameters: [] }
  expect(await connection.read(() => first(positions))).toEqual({ low: 3, n: 100_000 })
})

import { expect, test } from 'vitest'
import { openAverba } from '../../../src/index.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import { HeaderReader } from '../../../src/store/log/header.ts'
import { type AgedPage, readAgedParts } from '../../../src/store/parts/parts.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'

const at = '2026-01-01T00:00:00.000Z'
const events = 12_000

/** A log with two parts per event at some positions, and a part of another kind at the others. */
async function given(positions: ReadonlySet<number>): Promise<string> {
  const store = temporaryStore()
  await (await openAverba({ store, schedules: false })).close()
  useDatabase(store, database => {
    database.exec(`pragma foreign_keys = off; begin;
      insert into stream (key, name, version, tag) values (1000, 'validation-x', 1, '');
      insert into owner_key (key, owner, epoch, wrapped, commitment) values (1000, 'subject-1', 1, x'00', x'00')`)
    const event = database.prepare("insert into event values (?, 1000, ?, 'validation.requested', ?, x'00', '')")
    const part = database.prepare("insert into part (position, name, owner, sealed) values (?, ?, 1000, x'00')")
    for (let position = 2; position <= events; position++) {
      const names = positions.has(position) ? ['reason', 'claims'] : ['note']
      const parts = names.map(name => ({ name, owner: 'subject-1' }))
      event.run(position, position, JSON.stringify({ at, position, parts }))
      for (const name of names) part.run(position, name)
    }
    database.exec('commit')
  })
  return store
}

const many = Array.from({ length: 600 }, (_, i) => 5_200 + i)

test.each([
  ['few, around the end of a page', [2, 4_999, 5_000, 5_001, 5_002, 9_999, 10_001, 10_002, 12_000]],
  ['more than one page', many],
  ['none', []],
])('parts of a kind are found once each, wherever the others are: %s', async (_, places) => {
  const positions = new Set(places)
  const connection = closeAtEnd(await openSqlite(await given(positions)))
  const kinds = ['validation.requested/claims', 'validation.requested/reason']
  const found: string[] = []
  for (let last: AgedPage['next'] = { position: 0, name: '' }; last; ) {
    const { position, name } = last
    const page: AgedPage = await connection.read(() =>
      readAgedParts(new HeaderReader({}), kinds, '2026-06-01T00:00:00.000Z', { position, name }),
    )
    found.push(...page.parts.map(each => `${each.position}/${each.name}`))
    // No read covers more positions than this.
    for (const each of [...page.parts, page.next ?? last]) expect(each.position).toBeLessThanOrEqual(position + 5_001)
    last = page.next
  }
  expect(found).toEqual([...positions].flatMap(each => [`${each}/claims`, `${each}/reason`]))
})

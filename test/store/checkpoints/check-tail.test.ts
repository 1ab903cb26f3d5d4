import { expect, test } from 'vitest'
import { leafHash } from '../../../src/store/log/tree.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { withoutGuards } from '../../support/use-database.ts'
import { appendOf, at } from '../append-of.ts'

/** An open log of four events, and access to its file. */
async function given() {
  const path = temporaryStore()
  const store = await openStore({ path })
  await store.append(appendOf('token-0', 'none', [{}, {}, {}]))
  const file = closeAtEnd(new Sqlite(path))
  const edit = (sql: string, ...parameters: string[]) =>
    withoutGuards(file, () => (parameters.length > 0 ? file.prepare(sql).run(...parameters) : file.exec(sql)))
  return { path, store, file, edit, append: () => store.append(appendOf('token-x')) }
}

const withParts = (...owners: string[]) => owners.map(owner => ({ parts: { note: { owner, value: 'x' } } }))

test('an event that somebody else appended stops every later append, and names the way out', async () => {
  const { path, store, file, edit, append } = await given()
  // The copy of an event in the place after the last one, with a leaf and a tag.
  const header = String(file.value('select header from event where position = 2'))
  const copied = header.replace('"position":2', '"position":5').replace('"version":1', '"version":900')
  file.function('leaf', text => leafHash(String(text)))
  edit(
    `insert into event select 5, stream, 900, type, '${copied}', leaf('${copied}'), tag from event where position = 2`,
  )
  const expectRefusals = async (message: string, hint: unknown = expect.anything()) => {
    for (const refused of [append(), store.checkpoint(), openStore({ path })])
      await expect(refused).rejects.toMatchObject({ code: 'CORRUPT', message, hint })
  }
  await expectRefusals('The log has 5 events, and its head names 4', expect.stringContaining('restore a backup'))
  edit('update head set position = 5')
  await expectRefusals('The log of 5 events was changed, or written to without its keys')
  edit('delete from event where position = 5; update head set position = 4')
  expect(await append()).toMatchObject({ status: 'appended', position: 5 })
})

test('a changed event at the end of the log is told apart from one without a tag, before anything is appended', async () => {
  const { path, file, edit, append } = await given()
  const other = await openStore({ path })
  await other.append(appendOf('token-y'))
  const header = String(file.value('select header from event where position = 5'))
  edit("update event set header = replace(header, 'bench.done', 'bench.gone') where position = 5")
  await expect(append()).rejects.toThrow('the event at position 5: its leaf is not the hash of its header')
  edit("update event set header = ?, tag = 'x' where position = 5", header)
  await expect(append()).rejects.toThrow('the event at position 5: it was written without the keys of this log')
})

test('a long tail begins at the newest checkpoint, which the keys must have signed', async () => {
  const { path, store, file, edit, append } = await given()
  const other = await openStore({ path })
  const many = appendOf('token-y', 'any', Array(700).fill({}))
  await other.append(many)
  await other.checkpoint()
  // The signed checkpoint covers this event: it is refused when it is read, and nothing else is.
  edit("update event set tag = 'x' where position = 300")
  expect(await append()).toMatchObject({ status: 'appended', position: 705 })
  await expect(store.readAt(300)).rejects.toThrow('the event at position 300: it was changed, or written without')
  await other.append(many)
  const note = String(file.value('select note from checkpoint order by number desc'))
  const unsigned = note.replace(/— (\S+) \S+/, `— $1 ${Buffer.alloc(68).toString('base64')}`)
  edit('update checkpoint set note = ? where note = ?', unsigned, note)
  await expect(append()).rejects.toThrow('was not signed with the keys of the log')
  edit('update checkpoint set note = ?', note.replace(/\n704\n/, '\n703\n'))
  await expect(append()).rejects.toThrow('contradicts the log')
})

test('a trigger that somebody adds while engines run stops the next append', async () => {
  const { file, append } = await given()
  await append()
  file.exec('create trigger silent before insert on part begin select raise(ignore); end')
  await expect(append()).rejects.toThrow('it has a foreign trigger "silent"')
  file.exec('drop trigger silent')
  expect(await append()).toMatchObject({ status: 'appended' })
})

test('events that are moved out of a stream, or its end, are noticed when the stream is written', async () => {
  const { path, store, edit } = await given()
  await store.append(appendOf('token-y', 'none', [{}, {}, {}]))
  edit('update event set stream = 1, version = 100 where version = 2 and position = 6')
  await expect(store.read({ stream: 'token-y' })).rejects.toThrow('the one before it in "token-y" is missing')
  await store.close()
  edit("update stream set version = 1 where name = 'token-y'")
  const again = await openStore({ path })
  await expect(again.append(appendOf('token-y', 1))).rejects.toMatchObject({ code: 'CORRUPT' })
})

test('a key that is marked as erased without an event, or bears the name of another, is not used or destroyed', async () => {
  const { path, store, file } = await given()
  await store.append(appendOf('token-y', 'none', withParts('subject-a', 'subject-b')))
  await store.close()
  file.exec("update owner_key set is_erased = 1 where owner = 'subject-a'")
  const again = await openStore({ path })
  await expect(again.append(appendOf('token-z', 'none', withParts('subject-a')))).rejects.toThrow('no event says so')
  file.exec('update head set epoch_since = 1000000')
  await expect(again.owners.rotate(1)).rejects.toThrow('its epoch is said to have begun at 1000000')
  file.exec(`update owner_key set is_erased = 0, owner = 'x' || owner;
    update owner_key set owner = case owner when 'xsubject-a' then 'subject-b' else 'subject-a' end`)
  const nothing = { indexEntries: [], commands: [], streams: [], keepsKey: false, kept: [] }
  const person = { owner: 'subject-a', subject: 'a', until: 9, ...nothing }
  const erasing = again.append(appendOf('token-y', 'any', [{}], { destroys: { parts: [], person } }))
  await expect(erasing).rejects.toMatchObject({ code: 'CORRUPT' })
  expect(file.value('select count(*) from owner_key where epoch > 0')).toBe(2)
})

test('a part whose row names another owner is not found for destruction', async () => {
  const { store, file } = await given()
  await store.append(appendOf('token-y', 'none', withParts('subject-a', 'subject-b')))
  const find = () => store.owners.agedParts(['bench.done/note'], '2040-01-01T00:00:00.000Z', { position: 0, name: '' })
  expect((await find()).parts).toHaveLength(2)
  file.exec('update part set owner = (select max(key) from owner_key)')
  await expect(find()).rejects.toThrow('the owner of its part "note" was changed')
})

test('a call that was on its way when its process died is not due again because its row says so', async () => {
  const { store, file } = await given()
  await store.append(appendOf('token-y', 'none', [{ effects: [{ type: 'service.pay', data: {} }] }]))
  const attempt = async () => {
    const { move } = (await store.findClaimable('token-y/1/0', Date.parse(at) + 1)) ?? expect.fail()
    return store.append(appendOf('effect-5-0', 'any', [{}], { moves: store.addLease(move) }))
  }
  expect(await attempt()).toMatchObject({ status: 'appended' })
  file.exec("update effect set state = 'pending', attempts = 0, lease_owner = null, lease_until = null")
  await expect(attempt()).rejects.toThrow('is pending in the ledger, and started in the log')
})

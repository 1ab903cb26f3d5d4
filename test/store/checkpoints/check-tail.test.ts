import { expect, test } from 'vitest'
import { leafHash } from '../../../src/store/log/tree.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { withoutGuards } from '../../support/use-database.ts'
import { appendOf, at } from '../append-of.ts'

/** An open log of some events, and access to its file. */
async function given(events: number) {
  const path = temporaryStore()
  const store = await openStore({ path })
  for (let from = 0; from < events; from += 100)
    await store.append(appendOf(`token-${from}`, 'none', Array(Math.min(100, events - from)).fill({})))
  const file = closeAtEnd(new Sqlite(path))
  const edit = (work: (database: Sqlite) => void) => withoutGuards(file, () => work(file))
  return { path, store, file, edit }
}

/** Appends the copy of an event in the place after the last one, with a leaf and a tag. */
function appendCopy(file: Sqlite): void {
  const position = Number(file.value('select max(position) + 1 from event'))
  const header = String(file.value('select header from event where position = 2'))
  const copied = header.replace('"position":2', `"position":${position}`).replace('"version":1', '"version":900')
  file
    .prepare('insert into event select ?, stream, 900, type, ?, ?, tag from event where position = 2')
    .run(position, copied, leafHash(copied))
}

const append = (store: Awaited<ReturnType<typeof openStore>>) => store.append(appendOf('token-x'))

test('an event that somebody else appended stops every later append, and names the way out', async () => {
  const { path, store, file, edit } = await given(3)
  edit(appendCopy)
  const refused = {
    code: 'CORRUPT',
    message: 'The log has 5 events, and its head names 4',
    hint: expect.stringContaining('restore a backup'),
  }
  await expect(append(store)).rejects.toMatchObject(refused)
  await expect(store.checkpoint()).rejects.toMatchObject(refused)
  await expect(openStore({ path })).rejects.toMatchObject(refused)
  edit(database => database.exec('update head set position = 5'))
  const forged = { code: 'CORRUPT', message: 'The log of 5 events was changed, or written to without its keys' }
  await expect(append(store)).rejects.toMatchObject(forged)
  await expect(store.checkpoint()).rejects.toMatchObject(forged)
  await expect(openStore({ path })).rejects.toMatchObject(forged)
  edit(() => file.exec('delete from event where position = 5; update head set position = 4'))
  expect(await append(store)).toMatchObject({ status: 'appended', position: 5 })
})

test('a changed event at the end of the log is told apart from one without a tag, before anything is appended', async () => {
  const { path, store, file, edit } = await given(3)
  const other = await openStore({ path })
  await other.append(appendOf('token-y'))
  const header = String(file.value('select header from event where position = 5'))
  edit(() => file.exec("update event set header = replace(header, 'bench.done', 'bench.gone') where position = 5"))
  await expect(append(store)).rejects.toThrow('the event at position 5: its leaf is not the hash of its header')
  edit(() => file.prepare("update event set header = ?, tag = 'x' where position = 5").run(header))
  await expect(append(store)).rejects.toThrow('the event at position 5: it was written without the keys of this log')
})

test('a long tail begins at the newest checkpoint, which the keys must have signed', async () => {
  const { path, store, file, edit } = await given(3)
  const other = await openStore({ path })
  await other.append(appendOf('token-y', 'any', Array(700).fill({})))
  await other.checkpoint()
  // The signed checkpoint covers this event: it is refused when it is read, and nothing else is.
  edit(() => file.exec("update event set tag = 'x' where position = 300"))
  expect(await append(store)).toMatchObject({ status: 'appended', position: 705 })
  await expect(store.readAt(300)).rejects.toThrow('the event at position 300: it was changed, or written without')
  await other.append(appendOf('token-y', 'any', Array(700).fill({})))
  const signature = /— (\S+) \S+/
  const note = String(file.value('select note from checkpoint order by number desc'))
  const unsigned = note.replace(signature, (_, name) => `— ${name} ${Buffer.alloc(68).toString('base64')}`)
  file.prepare('update checkpoint set note = ? where note = ?').run(unsigned, note)
  await expect(append(store)).rejects.toThrow('was not signed with the keys of the log')
  file.prepare('update checkpoint set note = ?').run(note.replace(/\n704\n/, '\n703\n'))
  await expect(append(store)).rejects.toThrow('contradicts the log')
})

test('a trigger that somebody adds while engines run stops the next append', async () => {
  const { store, file } = await given(3)
  await append(store)
  file.exec('create trigger silent before insert on part begin select raise(ignore); end')
  await expect(append(store)).rejects.toThrow('it has a foreign trigger "silent"')
  file.exec('drop trigger silent')
  expect(await append(store)).toMatchObject({ status: 'appended' })
})

test('events that are moved out of a stream, or its end, are noticed when the stream is written', async () => {
  const { path, store, file, edit } = await given(3)
  await store.append(appendOf('token-y', 'none', [{}, {}, {}]))
  edit(() => file.exec('update event set stream = 1, version = 100 where version = 2 and position = 6'))
  await expect(store.read({ stream: 'token-y' })).rejects.toThrow('the one before it in "token-y" is missing')
  await store.close()
  edit(() => file.exec("update stream set version = 1 where name = 'token-y'"))
  const again = await openStore({ path })
  const { code } = await again.append(appendOf('token-y', 1)).catch(error => error)
  expect(code).toBe('CORRUPT')
})

test('a key that is marked as erased without an event, or bears the name of another, is not used or destroyed', async () => {
  const { path, store, file } = await given(3)
  const parts = (owner: string) => ({ parts: { note: { owner, value: 'x' } } })
  await store.append(appendOf('token-y', 'none', [parts('subject-a'), parts('subject-b')]))
  await store.close()
  file.exec("update owner_key set is_erased = 1 where owner = 'subject-a'")
  const again = await openStore({ path })
  await expect(again.append(appendOf('token-z', 'none', [parts('subject-a')]))).rejects.toThrow('no event says so')
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
  const { store, file } = await given(3)
  const parts = (owner: string) => ({ parts: { note: { owner, value: 'x' } } })
  await store.append(appendOf('token-y', 'none', [parts('subject-a'), parts('subject-b')]))
  const find = () => store.owners.agedParts(['bench.done/note'], '2040-01-01T00:00:00.000Z', { position: 0, name: '' })
  expect((await find()).parts).toHaveLength(2)
  file.exec('update part set owner = (select max(key) from owner_key)')
  await expect(find()).rejects.toThrow('the owner of its part "note" was changed')
})

test('a call that was on its way when its process died is not due again because its row says so', async () => {
  const { store, file } = await given(3)
  const due = Date.parse(at) + 1
  const effects = [{ type: 'service.pay', data: {} }]
  const { position } = (await store.append(appendOf('token-y', 'none', [{ effects }]))) as { position: number } // It is appended.
  const attempt = async () => {
    const found = await store.findClaimable('token-y/1/0', due)
    if (!found) throw new TypeError('It is not due')
    return store.append(appendOf(`effect-${position}-0`, 'any', [{}], { moves: store.addLease(found.move) }))
  }
  expect(await attempt()).toMatchObject({ status: 'appended' })
  file.exec("update effect set state = 'pending', attempts = 0, lease_owner = null, lease_until = null")
  await expect(attempt()).rejects.toThrow('is pending in the ledger, and started in the log')
})

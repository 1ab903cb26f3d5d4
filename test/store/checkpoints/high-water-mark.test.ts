import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Averba, type AverbaError, type LogLine, openAverba, verifyLog } from '../../../src/index.ts'
import { parseCheckpoint } from '../../../src/proof/note.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import type { StoreOptions } from '../../../src/store/store-options.ts'
import { closeAtEnd } from '../../support/close-at-end.ts'
import { copyStore, makeSampleStore } from '../../support/sample-store.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'
import { withHooks } from '../watched.ts'

let sample = ''
beforeAll(async () => {
  sample = await makeSampleStore(40)
})

/** Copies the sample with its mark. */
function copyMarked(): string {
  const store = copyStore(sample)
  copyFileSync(`${sample}.mark`, `${store}.mark`)
  return store
}

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

function notify(averba: Averba, i: number): Promise<Response> {
  const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
  const request = new Request(receiver.publicUrl, { method: 'POST', headers, body: JSON.stringify({ i }) })
  return averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' })
}

function edit(store: string, sql: string): void {
  const database = new Sqlite(store)
  database.pragma('foreign_keys = off')
  withoutGuards(database, () => database.exec(sql))
  database.close()
}

/** Deletes the last events with everything that belongs to them. */
const cutOff = (from: number) =>
  ['part', 'effect', 'event'].map(table => `delete from ${table} where position >= ${from};`).join('') +
  `delete from checkpoint where size >= ${from};`

test('closing writes a signed checkpoint of all events to the log and to the mark', async () => {
  const mark = readFileSync(`${sample}.mark`, 'utf8')
  const { events } = await verifyLog({ store: sample })
  expect(parseCheckpoint(mark)?.size).toBe(events)
  const database = closeAtEnd(new Sqlite(sample, { readOnly: true }))
  expect(database.value('select note from checkpoint order by number desc')).toBe(mark)
})

test('opening and closing without changes keeps the mark and the checkpoints', async () => {
  const store = copyMarked()
  const before = readFileSync(`${store}.mark`, 'utf8')
  await (await openAverba({ store })).close()
  expect(readFileSync(`${store}.mark`, 'utf8')).toBe(before)
  expect((await verifyLog({ store })).checkpoints).toBe((await verifyLog({ store: sample })).checkpoints)
})

describe('a log is not opened', () => {
  test('that was truncated behind its mark, even if consistent', async () => {
    const { events } = await verifyLog({ store: sample })
    for (let from = 2; from <= events; from++) {
      const store = copyMarked()
      edit(store, cutOff(from))
      await expect(openAverba({ store }), `from ${from}`).rejects.toMatchObject({
        code: 'ROLLED_BACK',
        message: expect.stringContaining(`it has ${from - 1} events, and had ${events}`),
        hint: expect.stringContaining('--accept-rollback'),
      })
    }
  })

  test('when an older copy replaced it', async () => {
    const store = temporaryStore()
    const first = await openEngine({ store, receiver })
    await notify(first, 1)
    await first.close()
    copyFileSync(store, `${store}.old`)
    const second = await openEngine({ store, receiver })
    await notify(second, 2)
    await second.close()
    copyFileSync(`${store}.old`, store)
    await expect(openAverba({ store })).rejects.toMatchObject({ code: 'ROLLED_BACK' })
    expect((await verifyLog({ store })).level).toBe('broken')
  })

  test('that has the same number of events as under the mark, but different ones', async () => {
    const store = temporaryStore()
    await (await openAverba({ store, receiver })).close()
    for (const end of ['', '.keys']) copyFileSync(`${store}${end}`, `${store}${end}.old`)
    const one = await openEngine({ store, receiver })
    await notify(one, 1)
    await one.close()
    const mark = readFileSync(`${store}.mark`, 'utf8')
    for (const end of ['', '.keys']) copyFileSync(`${store}${end}.old`, `${store}${end}`)
    rmSync(`${store}.mark`)
    const other = await openEngine({ store, receiver })
    await notify(other, 2)
    await other.close()
    writeFileSync(`${store}.mark`, mark)
    await expect(openAverba({ store })).rejects.toMatchObject({
      code: 'ROLLED_BACK',
      message: expect.stringContaining('differ from those under its high-water mark'),
    })
    await expect(verifyLog({ store })).resolves.toMatchObject({ level: 'broken' })
  })

  test.each([
    ['of another log', () => readFileSync(`${sample}.mark`, 'utf8')],
    ['that is damaged', () => 'x'],
  ])('with a mark %s', async (_, markOf) => {
    const store = temporaryStore()
    await (await openAverba({ store })).close()
    writeFileSync(`${store}.mark`, markOf())
    await expect(openAverba({ store })).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  })
})

test('without its mark a log is only self-consistent, and opening it writes the mark again', async () => {
  const store = copyStore(sample)
  const verdict = await verifyLog({ store })
  expect(verdict).toMatchObject({
    level: 'self-consistent',
    held: 0,
    next: expect.stringContaining('no high-water mark'),
  })
  expect(verdict.unproven.join(' ')).toContain('That its end was not cut off')
  await (await openAverba({ store })).close()
  expect(readFileSync(`${store}.mark`, 'utf8')).toBe(readFileSync(`${sample}.mark`, 'utf8'))
})

test('the mark is written after 10,000 events or a minute, and is never ahead of the log', async () => {
  const store = temporaryStore()
  const clock = new VirtualClock()
  const marks: { size: number; committed: number }[] = []
  let known: string | undefined
  const committed = () => {
    const position = useDatabase(store, database => database.value('select max(position) from event'))
    return Number(position)
  }
  const highWaterMark = {
    read: async () => known,
    async write(checkpoint: string) {
      known = checkpoint
      marks.push({ size: parseCheckpoint(checkpoint)?.size ?? 0, committed: committed() })
    },
  }
  const averba = await openEngine({ store, receiver, clock, highWaterMark, schedules: false })
  expect(marks).toEqual([])
  await Promise.all(Array.from({ length: 10_100 }, (_, i) => notify(averba, i)))
  await expect.poll(() => marks.length).toBe(1)
  expect(marks[0]?.size).toBeGreaterThanOrEqual(10_000)
  await clock.advance(60_000)
  await notify(averba, -1)
  await expect.poll(() => marks.length).toBe(2)
  await averba.close()
  for (const mark of marks) expect(mark.size).toBeLessThanOrEqual(mark.committed)
  expect(existsSync(`${store}.mark`)).toBe(false)
  expect(await verifyLog({ store, mark: known ?? '' })).toMatchObject({ level: 'held', faults: [] })
})

test('a mark that cannot be written is logged, and the log works', async () => {
  const lines: Record<string, unknown>[] = []
  const highWaterMark = {
    read: async () => undefined,
    write: async () => Promise.reject(new Error('The disk is away')),
  }
  const averba = await openEngine({
    store: temporaryStore(),
    receiver,
    highWaterMark,
    logger: line => lines.push(line),
  })
  expect((await notify(averba, 1)).status).toBe(200)
  await averba.close()
  expect(lines).toContainEqual({ level: 'error', message: 'the high-water mark could not be written', error: 'Error' })
})

test('a failed checkpoint is made with the next event', async () => {
  const store = temporaryStore()
  const clock = new VirtualClock()
  const said: unknown[] = []
  const logger = ({ message }: { message: string }) => void said.push(message)
  const averba = await openEngine({ store, receiver, clock, schedules: false, logger })
  const sizeOfMark = () =>
    existsSync(`${store}.mark`) ? (parseCheckpoint(readFileSync(`${store}.mark`, 'utf8'))?.size ?? 0) : 0
  const before = sizeOfMark()
  const database = new Sqlite(store)
  // The size of a checkpoint is unique.
  for (const [number, more] of [
    [-1, 40],
    [-2, 1],
    [-3, 2],
  ])
    database.exec(`insert into checkpoint select ${number}, max(position) + ${more}, '', null from event`)
  await clock.advance(60_000)
  await notify(averba, 1)
  await expect.poll(() => said).toContain('a checkpoint could not be made')
  database.exec('delete from checkpoint where number < 0')
  database.close()
  await notify(averba, 2)
  await expect.poll(sizeOfMark).toBeGreaterThan(before)
})

test('a mark that is missing, or older than a crash leaves it, is told when the log is opened', async () => {
  const store = copyMarked()
  const mark = `${store}.mark`
  const marks = [readFileSync(mark, 'utf8')]
  const openAgain = async () => {
    const lines: LogLine[] = []
    const averba = await openAverba({ store, receiver, logger: (line: LogLine) => void lines.push(line) })
    await averba.consents.enrol({ cpf: cpfs.pop() ?? '' })
    await averba.close()
    marks.push(readFileSync(mark, 'utf8'))
    return lines.filter(({ error }) => error === 'ROLLED_BACK').map(({ message }) => message)
  }
  const cpfs = ['25774435016', '52998224725', '11144477735', '39053344705']
  expect(await openAgain()).toEqual([])
  // A crash left the mark of the checkpoint before.
  writeFileSync(mark, marks[0] ?? '')
  expect(await openAgain()).toEqual([])
  writeFileSync(mark, marks[0] ?? '')
  expect(await openAgain()).toEqual([expect.stringMatching(/^the high-water mark is older than the log: /)])
  rmSync(mark)
  expect(await openAgain()).toEqual([expect.stringMatching(/^the high-water mark is missing: /)])
})

test('an accepted rollback that is interrupted at any write is recorded, or the log stays refused', async () => {
  const path = temporaryStore()
  const first = await openStore({ path })
  await first.vault.keyring.rememberSize(50)
  await first.close()
  rmSync(`${path}.mark`)
  const keys = readFileSync(`${path}.keys`)
  const seen = new Set<string>()
  for (let dies = 1; !seen.has('accepted'); dies++) {
    const copy = temporaryStore()
    copyFileSync(path, copy)
    writeFileSync(`${copy}.keys`, keys)
    let writes = 0
    const medium: StoreOptions['medium'] = {
      open: async () =>
        withHooks(await openSqlite(copy), {
          async transact(steps, run) {
            writes += 1
            if (writes >= dies) throw new RangeError('the process died')
            return run(steps)
          },
        }),
      keyring: create => create(),
    }
    const accepting = openStore({ path: copy, medium, acceptRollback: true })
    const isAccepted = await accepting.then(
      store => store.close().then(() => true),
      () => false,
    )
    rmSync(`${copy}.mark`, { force: true })
    const opened = await openStore({ path: copy }).catch(({ code }: AverbaError) => code)
    const isRecorded = typeof opened === 'object' && (await opened.readLast({ types: ['log.resumed'] })) !== undefined
    expect(opened === 'ROLLED_BACK' || isRecorded, `dies at write ${dies}`).toBe(true)
    seen.add(isAccepted ? 'accepted' : isRecorded ? 'recorded' : 'refused')
    if (typeof opened === 'object') await opened.close()
  }
  expect(seen).toContain('refused')
})

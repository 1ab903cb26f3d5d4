import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type AverbaError, type HighWaterMark, type LogLine, openAverba, verifyLog } from '../../../src/index.ts'
import { parseCheckpoint } from '../../../src/proof/note.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { openSqlite } from '../../../src/store/database/sqlite.ts'
import type { StoreOptions } from '../../../src/store/store-options.ts'
import { notify } from '../../support/notify.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { copyStore, makeSampleStore } from '../../support/sample-store.ts'
import { openStore } from '../../support/store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'
import { appendOf } from '../append-of.ts'
import { withHooks } from '../watched.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }
const sample = await makeSampleStore(40)

function copyMarked(): string {
  const store = copyStore(sample)
  copyFileSync(`${sample}.mark`, `${store}.mark`)
  return store
}

const readMark = (store: string) => readFileSync(`${store}.mark`, 'utf8')
const sizeOf = (mark: string) => parseCheckpoint(mark)?.size ?? 0

async function recordOnce(store: string, n: number): Promise<void> {
  const averba = await openEngine({ store, receiver })
  await notify(averba, n)
  await averba.close()
}

describe('a log is not opened', () => {
  test('when an older copy replaced it', async () => {
    const store = temporaryStore()
    await recordOnce(store, 1)
    copyFileSync(store, `${store}.old`)
    await recordOnce(store, 2)
    copyFileSync(`${store}.old`, store)
    await expect(openAverba({ store })).rejects.toMatchObject({ code: 'ROLLED_BACK' })
    expect((await verifyLog({ store })).level).toBe('broken')
  })

  test('that has the same number of events as under the mark, but different ones', async () => {
    const one = temporaryStore()
    await (await openAverba({ store: one })).close()
    const other = copyStore(one)
    await recordOnce(one, 1)
    await recordOnce(other, 2)
    copyFileSync(`${one}.mark`, `${other}.mark`)
    const message = expect.stringContaining('differ from those under its high-water mark')
    await expect(openAverba({ store: other })).rejects.toMatchObject({ code: 'ROLLED_BACK', message })
    expect((await verifyLog({ store: other })).level).toBe('broken')
  })

  test('with a mark of another log', async () => {
    const store = temporaryStore()
    await (await openAverba({ store })).close()
    writeFileSync(`${store}.mark`, readMark(sample))
    await expect(openAverba({ store })).rejects.toMatchObject({ code: 'ROLLED_BACK' })
  })
})

test('without its mark a log is only self-consistent, and opening it writes the mark again', async () => {
  const store = copyStore(sample)
  const verdict = await verifyLog({ store })
  const next = expect.stringContaining('no high-water mark')
  expect(verdict).toMatchObject({ level: 'self-consistent', held: 0, next })
  expect(verdict.unproven.join(' ')).toContain('That its end was not cut off')
  await (await openAverba({ store })).close()
  expect(readMark(store)).toBe(readMark(sample))
})

test('the mark is written after 10,000 events or a minute, and is never ahead of the log', async () => {
  const path = temporaryStore()
  const clock = new VirtualClock()
  const marks: { mark: string; committed: number }[] = []
  const highWaterMark = {
    read: async () => marks.at(-1)?.mark,
    async write(mark: string) {
      const committed = useDatabase(path, database => Number(database.value('select max(position) from event')))
      marks.push({ mark, committed })
    },
  }
  const store = await openStore({ path, clock, highWaterMark })
  const append = (count: number) => store.append(appendOf('token-a', 'any', Array(count).fill({})))
  const sizes = () => marks.map(({ mark }) => sizeOf(mark))
  await append(9_998)
  await append(1)
  await expect.poll(sizes).toEqual([10_000])
  await append(9_999)
  await clock.advance(minuteMs)
  await append(1)
  await expect.poll(sizes).toEqual([10_000, 20_000])
  await store.close()
  expect(marks.map(({ committed }) => committed)).toEqual(sizes())
  expect(existsSync(`${path}.mark`)).toBe(false)
})

test.each(['read', 'write'])('of two processes that write one mark, the later checkpoint stays: %s', async slowly => {
  const store = temporaryStore()
  const kept: string[] = []
  let meanwhile: () => Promise<unknown> = async () => undefined
  const pause = async (isSlow: boolean) => isSlow && meanwhile()
  const markOf = (slowlyAt?: string): HighWaterMark => ({
    read: () => pause(slowlyAt === 'read').then(() => kept.at(-1)),
    write: note => pause(slowlyAt === 'write').then(() => void kept.push(note)),
  })
  const other = await openEngine({ store, receiver, highWaterMark: markOf() })
  const slow = await openEngine({ store, receiver, highWaterMark: markOf(slowly) })
  await notify(slow, 1)
  let newest: string | undefined
  meanwhile = async () => {
    meanwhile = async () => undefined
    await notify(other, 2)
    newest = await other.audit.checkpoint()
  }
  await slow.audit.checkpoint()
  expect([kept.at(-1), typeof newest]).toEqual([newest, 'string'])
})

test('a mark that cannot be written is logged, and the log works', async () => {
  const lines: LogLine[] = []
  const highWaterMark = { read: async () => undefined, write: () => Promise.reject(new Error('The disk is away')) }
  const logger = (line: LogLine) => void lines.push(line)
  const averba = await openEngine({ store: temporaryStore(), receiver, highWaterMark, logger })
  expect((await notify(averba, 1)).status).toBe(200)
  await averba.close()
  expect(lines).toContainEqual({ level: 'error', message: 'the high-water mark could not be written', error: 'Error' })
})

test('a failed checkpoint is made with the next event', async () => {
  const store = temporaryStore()
  const clock = new VirtualClock()
  const said: string[] = []
  const logger = ({ message }: LogLine) => void said.push(message)
  const averba = await openEngine({ store, receiver, clock, schedules: false, logger })
  const sizeOfMark = () => (existsSync(`${store}.mark`) ? sizeOf(readMark(store)) : 0)
  const before = sizeOfMark()
  // The size of a checkpoint is unique.
  const taken = [40, 1, 2].map((more, i) => `select ${-1 - i}, max(position) + ${more}, '', null from event`)
  useDatabase(store, database => database.exec(`insert into checkpoint ${taken.join(' union all ')}`))
  await clock.advance(minuteMs)
  await notify(averba, 1)
  await expect.poll(() => said).toContain('a checkpoint could not be made')
  useDatabase(store, database => database.exec('delete from checkpoint where number < 0'))
  await notify(averba, 2)
  await expect.poll(sizeOfMark).toBeGreaterThan(before)
})

test('a mark that is missing, or older than a crash leaves it, is told when the log is opened', async () => {
  const store = copyMarked()
  const first = readMark(store)
  const cpfs = ['25774435016', '52998224725', '11144477735', '39053344705']
  const openAgain = async () => {
    const lines: LogLine[] = []
    const averba = await openAverba({ store, receiver, logger: line => void lines.push(line) })
    await averba.consents.enrol({ cpf: cpfs.pop() ?? '' })
    await averba.close()
    return lines.filter(({ error }) => error === 'ROLLED_BACK').map(({ message }) => message)
  }
  expect(await openAgain()).toEqual([])
  // A crash left the mark of the checkpoint before.
  writeFileSync(`${store}.mark`, first)
  expect(await openAgain()).toEqual([])
  writeFileSync(`${store}.mark`, first)
  expect(await openAgain()).toEqual([expect.stringMatching(/^the high-water mark is older than the log: /)])
  rmSync(`${store}.mark`)
  expect(await openAgain()).toEqual([expect.stringMatching(/^the high-water mark is missing: /)])
})

test('an accepted rollback that is interrupted at any write is recorded, or the log stays refused', async () => {
  const path = temporaryStore()
  const first = await openStore({ path })
  await first.vault.keyring.rememberSize(50)
  await first.close()
  const seen = new Set<string>()
  for (let dies = 1; !seen.has('accepted'); dies++) {
    const copy = copyStore(path)
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
    const accepting = openStore({ path: copy, medium, acceptRollback: true }).then(store => store.close())
    const isAccepted = await accepting.then(
      () => true,
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

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { diagnoseStore, exportBundle, verifyLog } from '../../src/index.ts'
import { eraseSamplePersons } from '../support/explained-absences.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { temporaryFolder, temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'

interface Place {
  readonly position: number
  readonly name: string
}

/** The output of the program in a bundle's README. */
async function sayOf(dir: string): Promise<string> {
  const [, program = ''] = /```python\n([\s\S]*?)```/.exec(readFileSync(join(dir, 'README'), 'utf8')) ?? []
  const file = join(temporaryFolder(), 'verify.py')
  writeFileSync(file, program)
  const ended = await promisify(execFile)('python3', [file], { cwd: dir }).catch(error => error)
  return ended.stdout
}

/** The parts in the store. */
function placesIn(store: string): Place[] {
  const places = useDatabase(store, database =>
    database.prepare('select position, name from part order by 1, 2').all(),
  ) as Place[] // As selected.
  return places
}

test('all three verifiers find each part that is deleted without an event', async () => {
  const store = await makeSampleStore(2, eraseSamplePersons)
  const dir = `${temporaryStore()}.bundle`
  await exportBundle({ store, dir })
  const whole = await verifyLog({ store: dir })
  const { checked, problems } = await diagnoseStore({ store, isDeep: true })
  expect({ problems, faults: whole.faults }).toEqual({ problems: [], faults: [] })
  expect(checked).toMatchObject({ erasedParts: whole.erasedParts })
  expect(whole.erasedParts).toBeGreaterThan(1)
  expect(await sayOf(dir)).toContain(`${whole.parts} parts, ${whole.erasedParts} erased`)

  const places = placesIn(store)
  const names = ['body', 'claims', 'cpf', 'record', 'result']
  expect([...new Set(places.map(({ name }) => name))].toSorted()).toEqual(names)
  const all = readFileSync(join(dir, 'parts.ndjson'), 'utf8').split('\n').slice(0, -1)
  expect(all).toHaveLength(places.length)
  for (const [i, { position, name }] of places.entries()) {
    const fault = `the part "${name}" at ${position} is missing, and no event says why`
    const copy = copyStore(store)
    useDatabase(copy, database =>
      database.prepare('delete from part where position = ? and name = ?').run(position, name),
    )
    expect((await diagnoseStore({ store: copy, isDeep: true })).problems).toEqual([`parts: ${fault}`])
    writeFileSync(
      join(dir, 'parts.ndjson'),
      all
        .toSpliced(i, 1)
        .map(line => `${line}\n`)
        .join(''),
    )
    const { level, faults } = await verifyLog({ store: dir })
    expect({ level, faults }).toEqual({
      level: 'broken',
      faults: [{ check: 'parts', count: 1, examples: [fault] }],
    })
    expect(await sayOf(dir)).toBe(`BROKEN: ${fault.replaceAll('"', '')}\n`)
  }
}, 120_000)

test('an erased owner has its original key exactly when parts were kept', async () => {
  const store = await makeSampleStore(2, eraseSamplePersons)
  const looked = async (change: string) => {
    const copy = copyStore(store)
    expect(useDatabase(copy, database => database.prepare(change).run().changes)).toBe(1)
    return (await diagnoseStore({ store: copy, isDeep: true })).problems.join()
  }
  const kept = 'is_erased = 1 and epoch > 0'
  const none = "update owner_key set epoch = 0, wrapped = x'', commitment = x''"
  expect(await looked(`${none} where ${kept}`)).toMatch(
    /^keys: parts of "subject-\w+" were kept, but the key is destroyed/,
  )
  // The part that it was made with was deleted.
  expect(await looked(`update owner_key set commitment = zeroblob(32) where ${kept}`)).toMatch(
    /^keys: the key of "subject-\w+" is not the one that was made at \d+/,
  )
  expect(await looked(`update owner_key set wrapped = x'00' where is_erased = 1 and epoch = 0`)).toMatch(
    /^keys: "subject-\w+" was erased, but the key still exists/,
  )
})

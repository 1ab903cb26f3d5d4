import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diagnoseStore, exportBundle, verifyLog } from '../../src/index.ts'
import { eraseSamplePersons } from '../support/explained-absences.ts'
import { changeLines, verifyByReadme } from '../support/exported-logs.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'

/** The parts in the store. */
function placesIn(store: string): { position: number; name: string }[] {
  return useDatabase(store, database =>
    database.prepare<[], { position: number; name: string }>('select position, name from part order by 1, 2').all(),
  )
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
  const output = expect.stringContaining(`${whole.parts} parts, ${whole.erasedParts} erased`)
  expect(await verifyByReadme(dir)).toEqual({ code: 0, output })

  const places = placesIn(store)
  const names = ['body', 'claims', 'cpf', 'record', 'result']
  expect([...new Set(places.map(({ name }) => name))].toSorted()).toEqual(names)
  const file = join(dir, 'parts.ndjson')
  const all = readFileSync(file, 'utf8')
  for (const [i, { position, name }] of places.entries()) {
    const fault = `the part "${name}" at ${position} is missing, and no event says why`
    const copy = copyStore(store)
    useDatabase(copy, database =>
      database.prepare('delete from part where position = ? and name = ?').run(position, name),
    )
    expect((await diagnoseStore({ store: copy, isDeep: true })).problems).toEqual([`parts: ${fault}`])
    writeFileSync(
      file,
      changeLines(all, lines => lines.toSpliced(i, 1)),
    )
    const faults = [{ check: 'parts', count: 1, examples: [fault] }]
    expect(await verifyLog({ store: dir })).toMatchObject({ level: 'broken', faults })
    // Its processes take most of the time: one part of each name.
    if (places.findIndex(each => each.name === name) === i)
      expect(await verifyByReadme(dir)).toEqual({ code: 2, output: `BROKEN: ${fault.replaceAll('"', '')}\n` })
  }
})

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

import { join } from 'node:path'
import { expect, test } from 'vitest'
import { diagnoseStore, exportBundle, verifyLog } from '../../src/index.ts'
import { eraseSamplePersons } from '../support/explained-absences.ts'
import { changeBundle, changeLines, exportSample, forgeries, verifyByReadme } from '../support/exported-logs.ts'
import { dayMs, passTime } from '../support/pass-time.ts'
import { copyStore, makeSampleStore } from '../support/sample-store.ts'
import { temporaryFolder, temporaryStore } from '../support/temporary-folder.ts'
import { useDatabase } from '../support/use-database.ts'
import { openWorld } from '../support/world.ts'

test('a bundle is verified with only Python and openssl, by the steps of its README', async () => {
  const { bundle } = await exportSample(105)
  const forged = forgeries.map(([, of, change]) => changeBundle(bundle, of, change))
  const [whole, ...broken] = await verifyByReadme(bundle, ...forged)
  const output = expect.stringMatching(/^self-consistent: \d+ events, \d+ parts, 0 erased/)
  expect(whole).toEqual({ code: 0, output })
  expect(forgeries.filter((_, i) => broken[i]?.code === 0)).toEqual([])
})

test('parts that were erased, or destroyed by retention, are explained to the same steps', async () => {
  const retention = { 'validation.claims': 'until-settled' } as const
  const world = await openWorld({ averba: { store: temporaryStore(), retention, schedules: true } })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  await averba.consents.sync({ subject })
  await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } })
  await passTime(world, 2 * dayMs)
  await averba.subjects.erase({ subject }, { requester: 'r', legalBasis: 'LGPD art. 18, VI' })
  const dir = join(temporaryFolder(), 'bundle')
  await averba.audit.export(dir)
  const { erasedParts, faults, parts } = await verifyLog({ store: dir })
  expect(faults).toEqual([])
  expect(erasedParts).toBeGreaterThan(0)
  const output = expect.stringContaining(`${parts} parts, ${erasedParts} erased`)
  expect(await verifyByReadme(dir)).toEqual([{ code: 0, output }])
})

test('all three verifiers find each part that is deleted without an event', async () => {
  const store = await makeSampleStore(2, eraseSamplePersons)
  const dir = join(temporaryFolder(), 'bundle')
  await exportBundle({ store, dir })
  const whole = await verifyLog({ store: dir })
  const { checked, problems } = await diagnoseStore({ store, isDeep: true })
  expect({ problems, faults: whole.faults }).toEqual({ problems: [], faults: [] })
  expect(checked).toMatchObject({ erasedParts: whole.erasedParts })
  expect(whole.erasedParts).toBeGreaterThan(1)

  const places = useDatabase(store, database => database.prepare('select position, name from part order by 1, 2').all())
  const names = ['body', 'claims', 'cpf', 'record', 'result']
  expect([...new Set(places.map(({ name }) => name))].toSorted()).toEqual(names)
  const deletions = places.map(({ position, name }, i) => ({
    fault: `the part "${name}" at ${position} is missing, and no event says why`,
    deletion: `delete from part where position = ${position} and name = '${name}'`,
    bundle: changeBundle(dir, 'parts.ndjson', text => changeLines(text, lines => lines.toSpliced(i, 1))),
  }))
  for (const { fault, deletion, bundle } of deletions) {
    const copy = copyStore(store)
    useDatabase(copy, database => database.exec(deletion))
    expect((await diagnoseStore({ store: copy, isDeep: true })).problems).toEqual([`parts: ${fault}`])
    const faults = [{ check: 'parts', count: 1, examples: [fault] }]
    expect(await verifyLog({ store: bundle })).toMatchObject({ level: 'broken', faults })
  }
  expect(await verifyByReadme(dir, ...deletions.map(({ bundle }) => bundle))).toEqual([
    { code: 0, output: expect.stringContaining(`${whole.parts} parts, ${whole.erasedParts} erased`) },
    ...deletions.map(({ fault }) => ({ code: 2, output: `BROKEN: ${fault.replaceAll('"', '')}\n` })),
  ])
})

test('an erased owner has its original key exactly when parts were kept', async () => {
  const store = await makeSampleStore(2, eraseSamplePersons)
  const looked = async (change: string) => {
    const copy = copyStore(store)
    expect(useDatabase(copy, database => database.prepare(change).run().changes)).toBe(1)
    return (await diagnoseStore({ store: copy, isDeep: true })).problems.join()
  }
  const kept = 'is_erased = 1 and epoch > 0'
  const set = 'update owner_key set'
  const none = `${set} epoch = 0, wrapped = x'', commitment = x''`
  for (const [change, problem] of [
    [`${none} where ${kept}`, /^keys: parts of "subject-\w+" were kept, but the key is destroyed/],
    // The part that it was made with was deleted.
    [
      `${set} commitment = zeroblob(32) where ${kept}`,
      /^keys: the key of "subject-\w+" is not the one that was made at/,
    ],
    [`${set} wrapped = x'00' where is_erased = 1 and epoch = 0`, /^keys: "subject-\w+" was erased, but the key still/],
  ] as const)
    expect(await looked(change)).toMatch(problem)
})

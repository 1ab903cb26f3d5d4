import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { exportBundle, verifyLog } from '../../src/index.ts'
import { simulate } from '../../src/simulation/index.ts'
import { changeBundle, changeLines, exportSample, forgeries, verifyByReadme } from '../support/exported-logs.ts'
import { root } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

let [store, bundle] = ['', '']
beforeAll(async () => {
  ;({ store, bundle } = await exportSample(105))
})

test('a bundle is verified with only Python and openssl, by the steps of its README', async () => {
  const output = expect.stringMatching(/^self-consistent: \d+ events, \d+ parts, 0 erased/)
  expect(await verifyByReadme(bundle)).toEqual({ code: 0, output })
  for (const [name, of, change] of forgeries)
    expect((await verifyByReadme(changeBundle(bundle, of, change))).code, name).not.toBe(0)
})

test('a bundle with erased parts, and parts destroyed by retention, is verified by the same steps', async () => {
  const path = join(temporaryFolder(), 'erased.sqlite')
  const retention = { 'validation.claims': 'until-settled' } as const
  const world = await simulate({ averba: { store: path, retention, schedules: true } })
  const { cpf } = world.samples
  const [subject, stays] = [
    await world.averba.consents.enrol({ cpf }),
    await world.averba.consents.enrol({ cpf: '11144477735' }),
  ]
  for (const who of [subject, stays]) await world.averba.consents.sync({ subject: who })
  await world.averba.validations.validate({ id: 'p1', cpf, claims: { nome: 'X' } })
  await world.clock.advance(2 * 86_400_000)
  await world.averba.settle()
  await world.averba.consents.sync({ subject })
  await world.averba.subjects.erase({ subject }, { requester: 'r', legalBasis: 'LGPD art. 18, VI' })
  const dir = join(temporaryFolder(), 'bundle')
  await world.averba.audit.export(dir)
  await world.close()
  const { erasedParts, faults, parts } = await verifyLog({ store: dir })
  expect(faults).toEqual([])
  expect(erasedParts).toBeGreaterThan(0)
  expect((await verifyByReadme(dir)).output).toContain(`${parts} parts, ${erasedParts} erased`)
  // What nobody erased is still missed.
  const file = join(dir, 'parts.ndjson')
  writeFileSync(
    file,
    changeLines(readFileSync(file, 'utf8'), all => all.filter(each => !each.includes(stays))),
  )
  expect((await verifyByReadme(dir)).output).toMatch(/^BROKEN: the part \S+ at \d+ is missing/)
  expect((await verifyLog({ store: dir })).level).toBe('broken')
})

test('a bundle is not left incomplete when the disk is full', async () => {
  const largest = Math.max(...readdirSync(bundle).map(name => statSync(join(bundle, name)).size))
  const limitKb = Math.floor((largest - 1) / 1024)
  const script = `
    import { exportUpTo } from './src/operations/audit.ts'
    await exportUpTo({ store: process.argv[1], dir: process.argv[2] }, async () => 'signed before')
      .then(() => console.log('exported'), error => console.log(error.code))`
  const command = `trap '' XFSZ; ulimit -S -f ${limitKb}; exec "$0" --input-type=module -e "$@"`
  const dir = join(temporaryFolder(), 'bundle')
  const args = ['-c', command, process.execPath, script, store, dir]
  const { stdout } = await promisify(execFile)('bash', args, { cwd: root })
  expect(stdout.trim()).toBe('STORE_UNSAFE')
  // Nothing of it stands in the way of the next one.
  expect(readdirSync(dir)).toEqual([])
  expect(await exportBundle({ store, dir })).toMatchObject({ dir })
})

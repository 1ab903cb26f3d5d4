import { copyFileSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { diagnoseStore } from '../../src/index.ts'
import { readLogContent } from '../support/shown-of.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'

const folder = resolve(import.meta.dirname, '../recordings/logs')
const names = readdirSync(folder).flatMap(name => (name.endsWith('.log') ? [name.slice(0, -4)] : []))

test.each(names)('a log of %s opens, reads as when it was recorded, is intact, and accepts events', async name => {
  const path = temporaryStore()
  copyFileSync(join(folder, `${name}.log`), path)
  copyFileSync(join(folder, `${name}.keyring`), `${path}.keys`)
  const hint = 'the log reads differently: if an upcaster or a view was to change it, run with -u'
  await expect(await readLogContent(path), hint).toMatchFileSnapshot(join(folder, `${name}.json`))
  const { problems, position } = await diagnoseStore({ store: path, isDeep: true })
  expect(problems.filter(problem => !problem.includes('mode'))).toEqual([])
  const averba = await openEngine({ store: path })
  expect((await averba.rebuild()).filter(view => view.differences > 0)).toEqual([])
  await averba.consents.enrol({ cpf: '11144477735' })
  // The recorded person is found, with the same consents.
  const known = await averba.consents.enrol({ cpf: '25774435016' })
  expect(await averba.consents.list({ subject: known })).toHaveLength(4)
  await averba.close()
  expect((await diagnoseStore({ store: path })).position).toBeGreaterThan(position)
})

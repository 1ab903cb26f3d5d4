import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'

const root = resolve(import.meta.dirname, '../..')
const index = join(root, 'src/index.ts')

test('processes that open a new file at the same time open the same log', async () => {
  const folder = temporaryFolder()
  const store = join(folder, 'log.sqlite')
  const script = `
    const { openAverba } = await import(${JSON.stringify(index)})
    const averba = await openAverba({ store: ${JSON.stringify(store)} })
    console.log(await averba.consents.enrol({ cpf: '25774435016' }))
    await averba.close()
  `
  const open = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { cwd: root })
  const opened = await Promise.all(Array.from({ length: 4 }, open))
  expect(new Set(opened.map(({ stdout }) => stdout.trim())).size).toBe(1)
  expect(opened.map(({ stderr }) => stderr)).toEqual(['', '', '', ''])
  const averba = await openEngine({ store })
  const types = await Array.fromAsync(averba.log.read(), event => event.type)
  expect(types).toEqual(['log.began', 'subject.enrolled'])
  await averba.close()
  expect(readdirSync(folder).sort()).toEqual(['log.sqlite', 'log.sqlite.keys', 'log.sqlite.mark'])
})

test('the command line starts without loading undici, prom-client and better-sqlite3', async () => {
  const script = `
    import { createRequire } from 'node:module'
    await import('./src/cli/program.ts')
    const { cache } = createRequire(process.cwd() + '/')
    const names = Object.keys(cache).map(path => /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(path)?.[1])
    console.log(JSON.stringify([...new Set(names)]))
  `
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: root,
  })
  const loaded: string[] = JSON.parse(stdout)
  // The test notices what is loaded.
  expect(loaded).toContain('xstate')
  for (const slow of ['undici', 'prom-client', 'better-sqlite3']) expect(loaded).not.toContain(slow)
})

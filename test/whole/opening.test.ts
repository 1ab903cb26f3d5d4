import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { runCode } from '../support/run-script.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'

test('processes that open a new file at the same time open the same log', async () => {
  const store = temporaryStore()
  const code = `
    const { openAverba } = await import('./src/index.ts')
    const averba = await openAverba({ store: ${JSON.stringify(store)} })
    console.log(JSON.stringify(await averba.consents.enrol({ cpf: '25774435016' })))
    await averba.close()
  `
  const opened = await Promise.all([runCode(code), runCode(code), runCode(code)])
  expect(new Set(opened).size).toBe(1)
  const averba = await openEngine({ store })
  const types = await Array.fromAsync(averba.log.read(), event => event.type)
  expect(types).toEqual(['log.began', 'subject.enrolled'])
  await averba.close()
  expect(readdirSync(dirname(store)).sort()).toEqual(['log.sqlite', 'log.sqlite.keys', 'log.sqlite.mark'])
})

test('the command line starts without loading undici, prom-client and better-sqlite3', async () => {
  const loaded: string[] = await runCode(`
    import { createRequire } from 'node:module'
    await import('./src/cli/program.ts')
    const { cache } = createRequire(process.cwd() + '/')
    const names = Object.keys(cache).map(path => /node_modules\\/((@[^/]+\\/)?[^/]+)/.exec(path)?.[1])
    console.log(JSON.stringify([...new Set(names)]))
  `)
  // The test notices what is loaded.
  expect(loaded).toContain('xstate')
  for (const slow of ['undici', 'prom-client', 'better-sqlite3']) expect(loaded).not.toContain(slow)
})

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

test.each([
  ['./src/cli/program.ts', ['commander']],
  ['./src/index.ts', []],
  ['./src/averba/averba.ts', ['kysely', 'xstate', 'zod']],
])('%s is loaded without what only an open log or another command needs', async (module, needed) => {
  const loaded: string[] = await runCode(`
    import { registerHooks } from 'node:module'
    const names = new Set()
    registerHooks({
      load(url, context, next) {
        const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
        if (name !== undefined) names.add(name)
        return next(url, context)
      },
    })
    await import('${module}')
    console.log(JSON.stringify([...names]))
  `)
  // The test notices what is loaded.
  expect(loaded).toEqual(expect.arrayContaining(needed))
  const slow = ['undici', 'prom-client', 'kysely', 'xstate', 'zod', 'hono', 'node-forge']
  expect(loaded.filter(name => slow.includes(name) && !needed.includes(name))).toEqual([])
})

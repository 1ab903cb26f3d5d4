import { expect, test, vi } from 'vitest'

test('a hint names the commands of the runtime that its reader uses', async () => {
  const onNode = await import('../../src/vocabulary/runtime-commands.ts')
  expect(onNode.commandToRun('a b.ts')).toBe('node "a b.ts"')
  expect(onNode.commandToAdd('pg')).toBe('npm install pg')
  vi.stubGlobal('Deno', {})
  vi.resetModules()
  const onDeno = await import('../../src/vocabulary/runtime-commands.ts')
  vi.unstubAllGlobals()
  expect(onDeno.commandToRun('a b.ts')).toBe('deno run -A "a b.ts"')
  expect(onDeno.commandToAdd('pg')).toBe('deno add npm:pg')
})

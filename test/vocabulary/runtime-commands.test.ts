import { expect, test, vi } from 'vitest'
import * as onNode from '../../src/vocabulary/runtime-commands.ts'

test('a hint names the commands of the runtime that its reader uses', async () => {
  expect(onNode.commandToRun('a b.ts')).toBe('node "a b.ts"')
  expect(onNode.commandToAdd('pg')).toBe('npm install pg')
  vi.stubGlobal('Deno', {})
  // It looks at its runtime when it is loaded: here once more.
  const again = '../../src/vocabulary/runtime-commands.ts?again'
  const onDeno: typeof onNode = await import(again)
  vi.unstubAllGlobals()
  expect(onDeno.commandToRun('a b.ts')).toBe('deno run -A "a b.ts"')
  expect(onDeno.commandToAdd('pg')).toBe('deno add npm:pg')
})

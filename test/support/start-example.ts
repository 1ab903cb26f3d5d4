import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished } from 'vitest'
import { commands, root } from './run-script.ts'
import { temporaryFolder } from './temporary-folder.ts'

export function startExample(name: string, args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
  const folder = temporaryFolder()
  const [command, ...flags] = commands[env.RUNTIME === 'Deno' ? 'Deno' : 'Node']
  const example = spawn(command, [...flags, '--conditions=averba-source', join(root, 'examples', name), ...args], {
    ...{ cwd: folder, stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, NO_COLOR: '1', ...env } },
  })
  onTestFinished(() => void example.kill('SIGKILL'))
  const lines = createInterface({ input: example.stdout })[Symbol.asyncIterator]()
  return {
    folder,
    next: async () => String((await lines.next()).value),
    end: async () => {
      example.kill('SIGTERM')
      expect(await once(example, 'exit')).toEqual([0, null])
    },
    output: () => Array.fromAsync(lines),
  }
}

import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { exportBundle, openAverba } from '../../src/index.ts'
import { run } from './run-script.ts'
import { makeSampleStore } from './sample-store.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Exports a log with this many notifications. Returns it, its bundle, and its verifier key line. */
export async function exportSample(notifications = 300) {
  const [store, bundle] = [await makeSampleStore(notifications), join(temporaryFolder(), 'bundle')]
  await exportBundle({ store, dir: bundle })
  return { store, bundle, key: readFileSync(join(bundle, 'key'), 'utf8').trim() }
}

/** Exports another log, with a key of its own. Returns the bundle. */
export async function exportOther(): Promise<string> {
  const dir = join(temporaryFolder(), 'bundle')
  const other = await openAverba({ store: `${dir}.sqlite` })
  await other.audit.export(dir)
  await other.close()
  return dir
}

/** Copies a bundle with a changed file. Returns the copy. */
export function changeBundle(bundle: string, file: string, change: (text: string) => string): string {
  const dir = join(temporaryFolder(), 'bundle')
  cpSync(bundle, dir, { recursive: true })
  const text = readFileSync(join(dir, file), 'utf8')
  expect(change(text)).not.toBe(text)
  writeFileSync(join(dir, file), change(text))
  return dir
}

export const changeLines = (text: string, change: (all: string[]) => string[]) =>
  change(text.split('\n').slice(0, -1))
    .map(line => `${line}\n`)
    .join('')

/** What someone without the keyring can do to a bundle: its name, the file and the change. */
export const forgeries: [string, string, (text: string) => string][] = [
  ['an event edited', 'leaves.ndjson', text => text.replace('"bodyBytes":', '"bodyBytes":1')],
  ['an event dropped', 'leaves.ndjson', text => changeLines(text, all => all.toSpliced(100, 1))],
  ['an event doubled', 'leaves.ndjson', text => changeLines(text, all => all.toSpliced(100, 0, all[100] ?? ''))],
  ['two events swapped', 'leaves.ndjson', text => changeLines(text, ([a = '', b = '', ...rest]) => [b, a, ...rest])],
  ['the last event dropped', 'leaves.ndjson', text => changeLines(text, all => all.slice(0, -1))],
  ['a part edited', 'parts.ndjson', text => text.replace(/"sealed":"..../, '"sealed":"AAAA')],
  ['a part dropped', 'parts.ndjson', text => changeLines(text, all => all.toSpliced(10, 1))],
  ['a part of no event', 'parts.ndjson', text => `${text}{"position":9999,"name":"a","owner":"b","sealed":""}\n`],
  ["another's part", 'parts.ndjson', text => text.replace(/"owner":"[^"]*"/, '"owner":"subject-x"')],
  ['another root', 'checkpoint', text => text.replace(/\n(.)/, '\n1$1')],
  ['another signature', 'checkpoint', text => text.replace(/(— \S+ .{20})./, (_, to) => `${to}_`.replace('_', 'A'))],
  ['another key', 'key', text => text.replace(/\+A/, '+B')],
]

/** Runs a program once in each folder, and prints how each run ended as JSON. */
const pythonRuns = `
import contextlib, io, json, os, sys
program = compile(open(sys.argv[1]).read(), "verify.py", "exec")
runs = []
for folder in sys.argv[2:]:
    os.chdir(folder)
    code, said = 0, io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            exec(program, {"__name__": "__main__"})
        except SystemExit as end:
            code = end.code
        except Exception as error:
            code, _ = 1, print(repr(error))
    runs.append({"code": code, "output": said.getvalue()})
print(json.dumps(runs))`

/** Verifies bundles by the program in the README of the first, with Python and openssl. Returns how each run ended. */
export async function verifyByReadme(...dirs: string[]): Promise<{ code: number; output: string }[]> {
  const [, program = ''] = /```python\n([\s\S]*?)```/.exec(readFileSync(join(dirs[0] ?? '', 'README'), 'utf8')) ?? []
  const file = join(temporaryFolder(), 'verify.py')
  writeFileSync(file, program)
  const { stdout } = await run('python3', ['-c', pythonRuns, file, ...dirs])
  return JSON.parse(stdout)
}

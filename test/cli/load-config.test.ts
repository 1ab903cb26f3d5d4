import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { averba, failedWith } from '../support/command-line.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const secret = 'um-segredo-que-nao-se-mostra'
const unset = "throw new Error('The environment variable AVERBA_X is not set')"
const failing =
  /^MISCONFIGURED: Cannot load ".*": it throws TypeError at line 2\nRun it alone .*: node ".*failing.config.ts"\n$/

test.each([
  ['is missing', 'no.config.ts', undefined, /NOT_FOUND: Cannot load ".*": the file is missing\n.*averba init/],
  ['names no store', 'bare.config.ts', 'export default {}', /^MISCONFIGURED: .*store/],
  ['exports nothing', 'empty.config.ts', 'export {}', /MISCONFIGURED: .*exports no options by default/],
  ['lacks a variable', 'variable.config.ts', unset, /MISCONFIGURED: .*AVERBA_X is not set\nSet what is missing/],
  ['fails with a secret in its message', 'failing.config.ts', `const a = 1\nthrow new TypeError('${secret}')`, failing],
])('a configuration that %s is reported, with exit code 1', async (_, name, text, error) => {
  const file = join(temporaryFolder(), name)
  if (text !== undefined) writeFileSync(file, text)
  for (const command of ['plan', 'status'])
    expect(await averba(command, '--config', file)).toMatchObject(failedWith(error))
})

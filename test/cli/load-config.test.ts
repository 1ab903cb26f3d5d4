import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { averba, expectFailure, expectOutput } from '../support/command-line.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const secret = 'um-segredo-que-nao-se-mostra'
const index = JSON.stringify(resolve(import.meta.dirname, '../../src/index.ts'))
const keys = `import { environmentKeys } from ${index}\nenvironmentKeys({ variable: 'AVERBA_X' })`
const unset = "throw new Error('The environment variable AVERBA_X is not set')"
const failing =
  /^MISCONFIGURED: Cannot load ".*": it throws TypeError at line 2\nRun it alone .*: node ".*averba.config.ts"\n$/

test.each([
  ['is missing', undefined, /^NOT_FOUND: Cannot load ".*": the file is missing\n.*averba init/, 'the file is missing'],
  ['exports nothing', 'export {}', /^MISCONFIGURED: .*exports no options/, 'it exports no options by default'],
  ['lacks a variable', unset, /^MISCONFIGURED: .*AVERBA_X is not set\nSet what is missing/, 'AVERBA_X is not set'],
  ['lacks a key', keys, /^MISCONFIGURED: .*the variable AVERBA_X is not set/, 'the variable AVERBA_X is not set'],
  ['fails with a secret', `const a = 1\nthrow new TypeError('${secret}')`, failing, 'it throws TypeError at line 2'],
  ['names no store', 'export default {}', /^MISCONFIGURED: .*store/, 'store'],
])('a configuration that %s is reported by each command and by doctor, with exit code 1', async (...row) => {
  const [, text, error, said] = row
  const file = join(temporaryFolder(), 'averba.config.ts')
  if (text !== undefined) writeFileSync(file, text)
  const ended = [await expectOutput(averba('doctor', '--config', file), said, 1)]
  for (const command of ['plan', 'status']) ended.push(await expectFailure(averba(command, '--config', file), error))
  expect(JSON.stringify(ended)).not.toContain(secret)
})

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { configTemplate } from '../../../src/api/config-template.ts'
import { type ListedOption, listOptions } from '../../../src/api/option.ts'
import { optionsSchema } from '../../../src/api/options.ts'
import portuguese from '../../../src/cli/portuguese-config.json' with { type: 'json' }
import { averba, averbaJson, expectFailure, expectOutput } from '../../support/command-line.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

test('averba init writes to --dir, prints the next steps, and overwrites only with --force', async () => {
  const dir = join(temporaryFolder(), 'a/b')
  const written = join(dir, 'averba.config.ts')
  const { out } = await expectOutput(averba('init', '--dir', dir), `Wrote ${written}`)
  expect(out).toContain('AVERBA_CONSUMER_SECRET')
  expect(out).toContain('openAverba(config)')

  writeFileSync(written, 'mine')
  await expectFailure(averba('init', '--dir', dir), /^REFUSED: .*it exists already\n.*--force/)
  expect(readFileSync(written, 'utf8')).toBe('mine')
  expect(await averbaJson('init', '--dir', dir, '--force')).toMatchObject({ file: written })
  expect(readFileSync(written, 'utf8')).toBe(configTemplate())
  for (const impossible of [written, '/proc/averba/x'])
    await expectFailure(averba('init', '--dir', impossible), 'INVALID_INPUT: Cannot make the folder')
})

test('with --lang pt-BR the comments are Portuguese, each of them, and the options are the same', async () => {
  const said = new Set<string>()
  const english = configTemplate(comment => {
    said.add(comment)
    return comment
  })
  expect([...said].sort()).toEqual(Object.keys(portuguese).sort())
  const dir = temporaryFolder()
  expect((await averba('init', '--dir', dir, '--lang', 'pt-BR')).code).toBe(0)
  const written = readFileSync(join(dir, 'averba.config.ts'), 'utf8')
  expect(written).toContain('// O caminho do arquivo SQLite')
  expect(written).toContain("env('AVERBA_CONSENT_PASSPHRASE'), // quando a chave é cifrada")
  expect(written).not.toMatch(/ (the|of|that|which|by default) /)
  const options = (text: string) => text.split('\n').filter(line => /^ *'?[\w.]+'?: /.test(line))
  expect(options(written)).toEqual(options(english))
})

test('the configuration has every option, and reads every secret from the environment', () => {
  const text = configTemplate()
  const withoutComment = (config: string, options: readonly ListedOption[]): string[] =>
    options.flatMap(({ name, options }) => {
      const block = new RegExp(`^ +${name}: [{[]\n([\\s\\S]*?)^  [}\\]],$`, 'm').exec(config)?.[1] ?? ''
      const isCommented = new RegExp(`^ +// [\`A-Z].*\n( +// .*\n)* +(// )?'?${name}'?: `, 'm').test(config)
      return [...(isCommented ? [] : [name]), ...withoutComment(block, options)]
    })
  const options = listOptions(optionsSchema)
  expect(options.length).toBeGreaterThan(20)
  expect(withoutComment(text, options)).toEqual([])
  const secrets =
    /\b(key|passphrase|pfx|consumerKey|consumerSecret|bearer|authorization|chaveSecreta|chaveAutenticacao|secretFrom): (.+)/g
  const values = [...text.matchAll(secrets)].map(([, , value = '']) => value)
  expect(values.length).toBeGreaterThan(8)
  expect(values.filter(value => !/(env|textOf)\('AVERBA_\w+'\)/.test(value))).toEqual([])
})

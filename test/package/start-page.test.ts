import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { packPackage, root, run } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const tarball = await packPackage(temporaryFolder())
const denoFlags = ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual']

test.each([
  ['Node 22', 'node@22', ['node']],
  ['Node 24', 'node@24', ['node']],
  ['Deno', 'deno@2', ['deno', ...denoFlags]],
] as const)('a newcomer walks the start page with the packed package: %s', async (_, runtime, [program, ...flags]) => {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', '--foreground-scripts', tarball, runtime]
  // Deno has the types of Node itself, but looks for them where npm made node_modules.
  if (program === 'deno') install.push('@types/node@24')
  await run('npm', install, { cwd: folder })
  const cwd = join(folder, 'node_modules')
  const installed = readdirSync(cwd).filter(name => !/^(\.bin|@?deno|node.*|@types)$/.test(name))
  const { stdout: size } = await run('du', ['-cm', ...installed], { cwd })
  expect(Number(/(\d+)\ttotal/.exec(size)?.[1])).toBeLessThan(45)
  const tools = join(folder, 'node_modules/.bin')
  const env = { ...process.env, NO_COLOR: '1', PATH: `${tools}:${process.env.PATH}` }
  const start = (...args: readonly string[]) => run(join(tools, program), [...flags, ...args], { cwd: folder, env })
  const averba = (...args: readonly string[]) => start('node_modules/averba/dist/cli/main.js', ...args)

  const { stdout: version } = await averba('--version')
  expect(version.trim()).toBe(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).version)
  const demo = await averba('demo', '--json', '--dir', 'demo')
  expect(JSON.parse(demo.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({ views: 'equal', pending: 0 })
  cpSync(join(root, 'examples/first-steps.ts'), join(folder, 'first-steps.ts'))
  expect((await start('first-steps.ts')).stdout).toMatch(/^settled ATIVO\nsettled ATIVO\n1 \S+ log\.began\n/)

  if (program === 'node') {
    const code = "Math.min(...['', '/simulation', '/verify'].map(of => Object.keys(require('averba' + of)).length))"
    const { stdout } = await start('--input-type=commonjs', '--print', code)
    expect(Number(stdout)).toBeGreaterThan(5)
  } else {
    const page = readFileSync(join(root, 'docs/deno.md'), 'utf8')
    const blocks = [...page.matchAll(/^```ts deno .*\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code)
    const files = blocks.map((_, i) => `deno-${i}.ts`)
    for (const [i, file] of files.entries()) writeFileSync(join(folder, file), blocks[i] ?? '')
    expect(files.length).toBeGreaterThan(1)
    await run(join(tools, program), ['check', '--no-lock', '--node-modules-dir=manual', ...files], { cwd: folder, env })
  }

  // What an operator sees of that log, in both languages.
  const of = ['--store', 'first-steps.sqlite']
  const status = await averba('status', ...of)
  expect([status.stdout, status.stderr]).toEqual([expect.stringContaining('Nothing needs a person.'), ''])
  expect((await averba('consents', 'list', ...of, '--lang', 'pt-BR')).stdout).toMatch(/^CONSENTIMENTO +STATUS/)
  expect((await averba('verify', ...of).catch(error => error)).stdout).toMatch(/held|self-consistent/)
  expect((await averba('doctor', '--store', 'first-steps.sqlite')).stdout).toContain('No problems.')
  const [consent] = JSON.parse((await averba('consents', 'list', ...of, '--json')).stdout).consents
  const why = ['--actor', 'dpo', '--requester', 'pedido-1', '--legal-basis', 'LGPD 18 VI', '--backups-kept', '30']
  await averba('erase', '--store', 'first-steps.sqlite', '--subject', consent.subject, ...why)
  await averba('copy', 'first-steps.sqlite', 'moved.sqlite')
  expect((await averba('doctor', '--store', 'moved.sqlite', '--deep')).stdout).toContain('No problems.')
  await averba('init')
  expect(readFileSync(join(folder, 'averba.config.ts'), 'utf8')).toContain('defineConfig')
})

import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, posix, resolve } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

test('everything that the pages of the package link to is in the package', async () => {
  const { stdout } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], { cwd: root })
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }] // As npm prints it.
  const packed = files.map(({ path }) => path)
  const isPacked = (path: string) => packed.some(each => each === path || each.startsWith(`${path}/`))
  const pages = packed.filter(path => path.endsWith('.md'))
  expect(pages.length).toBeGreaterThan(20)
  const led = pages.flatMap(page => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
    const links = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+)[^)]*\)/g)].map(([, target = '']) => {
      return posix.join(posix.dirname(page), target)
    })
    // For `src/*.ts` the folder has to exist.
    const names = [...text.matchAll(/`((?:src|docs|examples)\/[^`\s<]+)`/g)].map(([, name = '']) => name)
    return [...links, ...names.map(name => name.replace(/\/\*.*$/, ''))].map(to => ({ page, to }))
  })
  expect(led.length).toBeGreaterThan(60)
  expect(led.filter(({ to }) => !isPacked(to))).toEqual([])
})

test('the installed package runs its commands and the code of the README, and its types compile', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'averba-package-'))
  await run('npm', ['pack', '--pack-destination', folder], { cwd: root })
  const [tarball = ''] = readdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', `./${tarball}`]
  const { stderr } = await run('npm', install, { cwd: folder })
  // npm warns of scripts that an installation would run: the package has none.
  expect(stderr).not.toContain('averba')

  const demo = await run('npx', ['--no-install', 'averba', 'demo', '--json'], { cwd: folder })
  expect(JSON.parse(demo.stdout.trim().split('\n').at(-1) ?? '')).toMatchObject({
    views: 'equal',
    tokenRequests: 2,
  })

  cpSync(join(root, 'examples/first-steps.ts'), join(folder, 'first-steps.ts'))
  const { stdout } = await run(process.execPath, ['first-steps.ts'], { cwd: folder })
  expect(stdout).toMatch(/settled ATIVO\nsettled ATIVO\n1 \S+ log\.began\n/)
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(['first-steps.sqlite', 'first-steps.sqlite.keys']))

  await run('npx', ['--no-install', 'averba', 'init'], { cwd: folder })

  // The types compile without the pages, with a strict compiler that checks every declaration.
  const compilerOptions = {
    ...{
      module: 'nodenext',
      target: 'es2024',
      lib: ['esnext'],
      noEmit: true,
      allowImportingTsExtensions: true,
    },
    ...{
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
    },
    ...{ types: ['node'], typeRoots: [join(root, 'node_modules/@types')] },
  }
  const ofPages = writeCodeOfPages(folder)
  expect(ofPages.length).toBeGreaterThan(15)
  const files = ['first-steps.ts', 'averba.config.ts', ...ofPages]
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  // tsc prints its errors to stdout, which a rejected promise would hide.
  const compiled = await run(join(root, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: folder }).catch(error => error)
  expect(compiled.stdout).toBe('')
})

/** Writes the code blocks of the pages to files, also those that are not run. */
function writeCodeOfPages(folder: string): string[] {
  const docs = readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md'))
  return docs.flatMap(page => {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    return [...text.matchAll(/^```ts.*\n([\s\S]*?)^```$/gm)].map(([, code = ''], i) => {
      const file = `${page}-${i + 1}.mts`
      writeFileSync(join(folder, file), code)
      return file
    })
  })
}

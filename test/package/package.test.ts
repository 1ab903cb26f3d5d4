import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'
import { packPackage, root, run, toolPath } from '../support/run-script.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The oldest compiler that the types are promised to, and the Jest that tests are. */
const oldestTypescript = '5.7.3'
const jest = '30.5.2'

const folder = temporaryFolder()
const sources = ['.', ...readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })]
const changedAt = Math.max(...sources.map(name => statSync(join(root, 'src', name)).mtimeMs))
const builtAt = statSync(join(root, 'dist/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
// Not once more after `npm run build`. To pack it with its scripts would build it twice.
if (builtAt <= changedAt) await run('npm', ['run', 'build'], { cwd: root })
const tarball = await packPackage(folder)

const packed = (await run('tar', ['-tzf', tarball])).stdout.split('\n').map(line => line.replace(/^package\//, ''))

test('everything that the pages of the package link to is in the package', () => {
  const isPacked = (path: string) => packed.some(each => each === path || each.startsWith(`${path}/`))
  const pages = packed.filter(path => path.endsWith('.md'))
  expect(pages.length).toBeGreaterThan(20)
  const led = pages.flatMap(page => {
    const text = readFileSync(join(root, page), 'utf8').replace(/^```[\s\S]*?^```$/gm, '')
    const targets = [...text.matchAll(/\]\((?!\w+:)([^)#\s]+)[^)]*\)/g)]
    const links = targets.map(([, target = '']) => posix.join(posix.dirname(page), target))
    // For `src/*.ts` the folder has to exist.
    const names = [...text.matchAll(/`((?:src|docs|examples)\/[^`\s<]+)`/g)].map(([, name = '']) => name)
    return [...links, ...names.map(name => name.replace(/\/\*.*$/, ''))].map(to => ({ page, to }))
  })
  expect(led.length).toBeGreaterThan(60)
  expect(led.filter(({ to }) => !isPacked(to))).toEqual([])
})

test('the package passes publint and attw, and its maps lead to sources that it contains', async () => {
  const { stdout } = await run(toolPath('publint'), ['run', tarball, '--strict'])
  expect(stdout).toContain('All good!')
  // Without CommonJS: `require` works on every supported Node.
  await run(toolPath('attw'), [tarball, '--profile', 'esm-only', '--format', 'json'])
  const maps = packed.filter(path => path.endsWith('.map'))
  expect(maps.length).toBeGreaterThan(500)
  const sources = maps.flatMap(path => {
    const { sources: named }: { sources: string[] } = JSON.parse(readFileSync(join(root, path), 'utf8'))
    return named.map(source => posix.join(posix.dirname(path), source))
  })
  const files = new Set(packed)
  expect(sources.filter(source => !files.has(source))).toEqual([])
})

test('the installed package works in Jest and ends with npx, and its types compile', async () => {
  writeFileSync(join(folder, 'package.json'), '{"private": true, "type": "module"}')
  const packages = [tarball, `typescript@${oldestTypescript}`, `jest@${jest}`]
  const install = ['install', '--prefer-offline', '--no-audit', '--no-fund', ...packages]
  const { stderr } = await run('npm', install, { cwd: folder })
  // npm warns of scripts that an installation would run: the package has none.
  expect(stderr).not.toContain('averba')

  await runJest()

  // What npx started ends when npx is stopped: its output would stay open otherwise.
  writeFileSync(join(folder, 'run.config.mjs'), "export default { store: 'npx.sqlite', run: { port: 0 } }")
  for (const args of [['run', '--config', 'run.config.mjs'], ['simulate']]) {
    const npx = spawn('npx', ['averba', ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] })
    await once(npx.stdout, 'data')
    npx.kill('SIGTERM')
    npx.stdout.resume()
    await once(npx.stdout, 'close')
  }

  // The types compile with a strict compiler that checks every declaration.
  await run(join(folder, 'node_modules/.bin/averba'), ['init'], { cwd: folder })
  cpSync(join(root, 'examples/first-steps.ts'), join(folder, 'first-steps.ts'))
  const ofPages = writeCodeOfPages(folder)
  expect(ofPages.length).toBeGreaterThan(15)
  expect(await compile(['first-steps.ts', ...ofPages])).toBe('')
  const oldest = join(folder, 'node_modules/typescript/bin/tsc')
  expect(await compile(['first-steps.ts'], {}, [process.execPath, oldest])).toBe('')
  const variants = writeConfigurations(readFileSync(join(folder, 'averba.config.ts'), 'utf8'))
  const unused = { noUnusedLocals: true, noImplicitReturns: true }
  const stricter = { skipLibCheck: true, noPropertyAccessFromIndexSignature: true, ...unused }
  expect(await compile(['averba.config.ts', ...variants], stricter)).toBe('')
})

/** Runs a test of a host in Jest, by import and by require. */
async function runJest(): Promise<void> {
  const tests = join(folder, 'jest')
  mkdirSync(tests)
  const body = `
test('a consent is read', async () => {
  const { averba, samples, close } = await simulate()
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  expect(valueOf(await averba.consents.sync({ subject }))).toMatchObject({ read: 4 })
  await close()
})`
  const imports = `import { valueOf } from 'averba'\nimport { simulate } from 'averba/simulation'`
  const requires = `const { valueOf } = require('averba')\nconst { simulate } = require('averba/simulation')`
  writeFileSync(join(tests, 'imports.test.mjs'), imports + body)
  writeFileSync(join(tests, 'requires.test.cjs'), requires + body)
  const env = { ...process.env, NODE_OPTIONS: '--experimental-vm-modules' }
  const args = ['--rootDir', tests, '--testMatch', '**/*.test.*']
  const { stderr } = await run(join(folder, 'node_modules/.bin/jest'), args, { cwd: folder, env })
  expect(stderr).toContain('Tests:       2 passed, 2 total')
}

/** Compiles files of the folder, and returns what the compiler prints. */
async function compile(files: readonly string[], stricter = {}, compiler?: readonly string[]): Promise<string> {
  const [tsc = '', ...more] = compiler ?? [toolPath('tsc')]
  const compilerOptions = {
    ...{ module: 'nodenext', target: 'es2024', lib: ['esnext'], noEmit: true, allowImportingTsExtensions: true },
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
    ...{ types: ['node'], typeRoots: [join(root, 'node_modules/@types')], ...stricter },
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }))
  // tsc prints its errors to stdout, which a rejected promise would hide.
  const { stdout } = await run(tsc, [...more, '-p', '.'], { cwd: folder }).catch(error => error)
  return stdout
}

/** Writes what a host may make of the configuration that `averba init` writes. */
function writeConfigurations(template: string): readonly string[] {
  const variants = {
    'with-all-optional-lines.config.ts': template
      .replace(/^( *)\/\/ (?!certificate)(\w+: .*,)/gm, '$1$2')
      .replace(/^import \{ readFile/m, "import { seededEntropy, VirtualClock } from 'averba/simulation'\n$&"),
    'with-the-other-certificate.config.ts': template
      .replace(/^ +(cert|key): .*\n/gm, '')
      .replace(/\/\/ ((pfx|passphrase): )/g, '$1'),
  }
  expect(new Set([template, ...Object.values(variants)]).size).toBe(3)
  for (const [name, text] of Object.entries(variants)) writeFileSync(join(folder, name), text)
  return Object.keys(variants)
}

/** Writes the code blocks of the pages to files, also those that are not run. */
function writeCodeOfPages(folder: string): string[] {
  const docs = readdirSync(join(root, 'docs')).filter(name => name.endsWith('.md'))
  return docs.flatMap(page => {
    const text = readFileSync(join(root, 'docs', page), 'utf8')
    // Not what is an excerpt of a file, nor what is for Deno: see start-page.test.ts.
    return [...text.matchAll(/^```ts(?! of | deno ).*\n([\s\S]*?)^```$/gm)].map(([, code = ''], i) => {
      const file = `${page}-${i + 1}.mts`
      writeFileSync(join(folder, file), code)
      return file
    })
  })
}

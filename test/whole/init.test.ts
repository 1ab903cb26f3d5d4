import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { optionNames } from '../../src/api/check-options.ts'
import { startServices } from '../../src/simulation/index.ts'

const root = resolve(import.meta.dirname, '../..')
const main = join(root, 'src/cli/main.ts')
const run = promisify(execFile)
// Only files inside the package can import it by its name.
mkdirSync(join(root, '.averba'), { recursive: true })
const folder = mkdtempSync(join(root, '.averba', 'init-'))
const file = join(folder, 'averba.config.ts')

afterAll(() => rmSync(folder, { recursive: true }))

/** Runs `averba init` in a folder. */
const init = (cwd: string, ...args: string[]) => run(process.execPath, [main, 'init', ...args], { cwd })

async function variablesOf(cwd: string): Promise<string[]> {
  const { stdout } = await init(cwd, '--force', '--json')
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '').variables
}

test('averba init writes to --dir, prints the next steps, and overwrites only with --force', async () => {
  const cwd = mkdtempSync(join(tmpdir(), 'averba-init-'))
  const { stdout } = await init(cwd, '--dir', 'a/b')
  const written = join(cwd, 'a/b/averba.config.ts')
  expect(stdout).toContain(`Wrote ${written}`)
  expect(stdout).toContain('AVERBA_CONSUMER_SECRET')
  expect(stdout).toContain('openAverba(config)')

  writeFileSync(written, 'mine')
  await expect(init(cwd, '--dir', 'a/b')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^REFUSED: .*it exists already\n.*--force/),
  })
  expect(readFileSync(written, 'utf8')).toBe('mine')
  await init(join(cwd, 'a/b'), '--force')
  expect(readFileSync(written, 'utf8')).toContain('defineConfig({')
  await expect(init(cwd, '--dir', 'a/b/averba.config.ts')).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining('INVALID_INPUT: Cannot make the folder'),
  })
})

test('the configuration has every option, and reads every secret from the environment', async () => {
  await init(folder, '--force')
  const text = readFileSync(file, 'utf8')
  const top = optionNames[''] ?? []
  expect(top.length).toBeGreaterThan(10)
  for (const name of top) expect(text, name).toMatch(new RegExp(`^  (// )?${name}: `, 'm'))
  for (const group of Object.keys(optionNames).filter(name => name !== '')) {
    const block = new RegExp(`^  ${group}: [{[]\n([\\s\\S]*?)^  [}\\]],$`, 'm').exec(text)?.[1] ?? ''
    for (const name of optionNames[group] ?? []) {
      expect(block, `${group}.${name}`).toMatch(new RegExp(`(^ +|// )'?${name}'?: `, 'm'))
    }
  }
  const secrets =
    /\b(key|passphrase|pfx|consumerKey|consumerSecret|bearer|authorization|chaveSecreta|chaveAutenticacao|secretFrom): (.+)/g
  const values = [...text.matchAll(secrets)].map(([, , value = '']) => value)
  expect(values.length).toBeGreaterThan(8)
  expect(values.filter(value => !/(env|textOf)\('AVERBA_\w+'\)/.test(value))).toEqual([])
})

describe('a strict compiler takes it', () => {
  const strict = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    ...{ noPropertyAccessFromIndexSignature: true, noUnusedLocals: true, noImplicitReturns: true },
  }

  test.each([
    ['as written', (text: string) => text],
    [
      'with all optional lines',
      (text: string) =>
        text
          .replace(/^( *)\/\/ (?!certificate)(\w+: .*,)/gm, '$1$2')
          .replace('{ defineConfig }', '{ defineConfig }')
          .replace(/^import \{ readFile/m, "import { seededEntropy, VirtualClock } from 'averba/simulation'\n$&"),
    ],
    [
      'with the other kind of certificate',
      (text: string) =>
        text
          .replace(/ {4}certificate: \(\) => \(\{[\s\S]*?\}\),\n/, '')
          .replace(/^ {4}\/\/ ((?:certificate: | {2}|\}\),).*)/gm, '    $1'),
    ],
  ])('%s', async (_, change) => {
    await init(folder, '--force')
    writeFileSync(file, change(readFileSync(file, 'utf8')))
    const files = ['averba.config.ts']
    const config = { extends: join(root, 'tsconfig.json'), compilerOptions: strict, include: [], files }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const { stdout } = await run(join(root, 'node_modules/.bin/tsc'), ['-p', folder]).catch(error => error)
    // A host has only the declarations of averba: its sources compile with their own options.
    expect(stdout.split('\n').filter((line: string) => line !== '' && !line.startsWith('src/'))).toEqual([])
  })
})

test('averba works with the written configuration when its variables are set', async () => {
  const services = await startServices()
  const { options, client, credentials, portalHeaders } = services
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  const values: Record<string, string> = {
    AVERBA_CONSENT_URL: options.consentService.baseUrl,
    AVERBA_CONSENT_CERT: write('client.pem', client.cert),
    AVERBA_CONSENT_KEY: write('client.key', client.key),
    AVERBA_TOKEN_URL: options.tokenService.url,
    AVERBA_CONSUMER_KEY: credentials.consumerKey,
    AVERBA_CONSUMER_SECRET: credentials.consumerSecret,
    AVERBA_VALIDATION_URL: options.validationService.baseUrl,
    AVERBA_VALIDATION_SERVICE: options.validationService.service,
    AVERBA_PORTAL_URL: options.portal.baseUrl,
    AVERBA_PORTAL_AUTHORIZATION: portalHeaders.authorization ?? '',
    AVERBA_RECEIVER_URL: 'https://receptor.exemplo.br/averba',
    AVERBA_HOOK_SECRET: 'segredo',
  }
  expect((await variablesOf(folder)).sort()).toEqual(Object.keys(values).sort())
  write(
    'host.ts',
    `import { openAverba, valueOf } from 'averba'
    import config from './averba.config.ts'
    const averba = await openAverba(config)
    const cpf = '${services.samples.cpf}'
    const subject = await averba.consents.enrol({ cpf })
    const { read } = valueOf(await averba.consents.sync({ subject }))
    const { state } = valueOf(await averba.validations.validate({ id: 'a', cpf, claims: { sexo: 'F' } }))
    const made = await averba.subscriptions.apply(await averba.subscriptions.plan())
    await averba.close()
    console.log(JSON.stringify({ read, state, made: made.map(outcome => outcome.status) }))`,
  )
  const host = (env: Record<string, string>) =>
    run(process.execPath, ['--conditions=averba-source', 'host.ts'], {
      cwd: folder,
      env: { ...process.env, AVERBA_CA: write('ca.pem', services.ca), ...env },
    })
  const { stdout } = await host(values)
  const [keyring = '', result = ''] = stdout.trim().split('\n')
  expect(JSON.parse(result)).toEqual({ read: 4, state: 'answered', made: ['settled'] })
  // The logger of the configuration wrote this one.
  expect(JSON.parse(keyring)).toMatchObject({ path: expect.stringContaining('averba.sqlite.keys') })
  // Loading fails at the first missing variable, and doctor names all of them.
  const doctor = (env: Record<string, string>) =>
    run(process.execPath, ['--conditions=averba-source', main, 'doctor'], {
      cwd: folder,
      env: { ...process.env, ...values, ...env },
    })
  await expect(doctor({ AVERBA_TOKEN_URL: '', AVERBA_CONSUMER_KEY: '', AVERBA_PORTAL_URL: '' })).rejects.toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /variables AVERBA_TOKEN_URL, AVERBA_CONSUMER_KEY, AVERBA_PORTAL_URL are not set: Set what .*\n1 problem\./,
    ),
  })
  await expect(doctor({ AVERBA_PORTAL_URL: '' })).rejects.toMatchObject({
    stdout: expect.stringContaining('The environment variable AVERBA_PORTAL_URL is not set: Set what'),
  })
  await expect(host({ ...values, AVERBA_TOKEN_URL: '' })).rejects.toMatchObject({
    stderr: expect.stringContaining('The environment variable AVERBA_TOKEN_URL is not set'),
  })
  await services.close()
})

test.each([
  ['init', 'averba.config.ts'],
  ['simulate', ''],
])('%s on a full disk reports it, and leaves no file that makes the next run fail', async (name, file) => {
  const dir = join(mkdtempSync(join(tmpdir(), 'averba-full-')), 'new')
  const command = `trap '' XFSZ; ulimit -S -f 0; exec "$0" "$@"`
  const args = ['-c', command, process.execPath, main, name, '--dir', dir]
  await expect(run('bash', args)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^STORE_UNSAFE: Cannot \w+ ".*": EFBIG\n/),
  })
  expect(existsSync(join(dir, file))).toBe(false)
})

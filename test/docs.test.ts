import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { dirname, join, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { examinedChecks, localChecks, tlsChecks } from '../src/api/health-check.ts'
import { faultSchema } from '../src/simulation/faults/fault.ts'
import { policiesSchema } from '../src/simulation/services/policies.ts'
import { tableNames } from '../src/store/database/schema.ts'
import { serviceNames } from '../src/vocabulary/names.ts'
import { countStarts } from './support/command-line.ts'
import { listenUntilEnd } from './support/listen-until-end.ts'
import { root, run } from './support/run-script.ts'
import { folderInPackage } from './support/temporary-folder.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    // Those of docs/reference are written, not by hand, and only for the site.
    .filter(name => name.endsWith('.md') && !/node_modules|^reference\//.test(name))
    .map(name => join('docs', name)),
]

/** The first groups of all matches. */
const groupsOf = (text: string, form: RegExp) => [...text.matchAll(form)].map(([, group = '']) => group)

test('every figure that the page about speed names is one of the benchmarks', () => {
  const benches = readdirSync(join(root, 'bench')).filter(name => name.endsWith('.ts'))
  const code = benches.map(name => read(join('bench', name))).join('')
  const keys = groupsOf(read('docs/speed.md'), /^\| (`[^|]*`) \|/gm).flatMap(cell => groupsOf(cell, /`(\w+)`/g))
  expect(keys.length).toBeGreaterThan(15)
  for (const key of keys) expect(code).toMatch(new RegExp(`\\b${key}\\b`))
})

/** Runs the scripts of pages, each in a folder of its own. One process loads the package once for all of them. */
async function runScripts(scripts: readonly { code: string }[], ALERTS_URL: string): Promise<string> {
  const folders = scripts.map(({ code }) => {
    const folder = folderInPackage()
    writeFileSync(join(folder, 'script.mts'), code)
    return folder
  })
  const runAll = `for (const folder of ${JSON.stringify(folders)}) {
    process.chdir(folder)
    await import(folder + '/script.mts')
  }`
  const args = ['--conditions=averba-source', '--input-type=module', '-e', runAll]
  return (await run(process.execPath, args, { env: { ...process.env, ALERTS_URL } })).stdout
}

function blocksOf(page: string): { info: string; code: string }[] {
  const blocks = [...read(page).matchAll(/^```(\S.*)\n([\s\S]*?)^```$/gm)]
  return blocks.map(([, info = '', code = '']) => ({ info, code }))
}

describe.each(pages)('%s', page => {
  test('has one title, and links that lead somewhere', () => {
    const text = read(page).replace(/^```[\s\S]*?^```$/gm, '')
    expect(text.match(/^# /gm)).toHaveLength(1)
    // What is elsewhere is only looked up by hand.
    const own = groupsOf(text, /\]\(([^)#\s]+)\)/g).filter(target => !/^https:\/\/[\w.-]+\.\w+(\/|$)/.test(target))
    expect(own.filter(target => !existsSync(resolve(root, dirname(page), target)))).toEqual([])
  })

  test('names files that exist', () => {
    const names = groupsOf(read(page), /`((?:src|test|docs|examples)\/[\w./-]+)`/g)
    const tests = groupsOf(read(page), /((?:[\w-]+\/)+[\w-]+\.test\.ts)/g).map(name =>
      name.replace(/^(?:test\/)?/, 'test/'),
    )
    expect([...names, ...tests].filter(name => !existsSync(join(root, name)))).toEqual([])
  })
})

test('the README fits on a page, and its lines of code are the example', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(121)
  const code = blocksOf('README.md').find(block => block.info === 'ts')?.code ?? ''
  expect(code).toBe(read('examples/first-steps.ts'))
  expect(code.trim().split('\n')).toHaveLength(15)
})

test('the lines that a page takes from a file are in it, in their order', () => {
  const taken = pages.flatMap(blocksOf).filter(({ info }) => info.includes(' of '))
  expect(taken.length).toBeGreaterThan(5)
  for (const { info, code } of taken) {
    const [, path = ''] = info.split(' of ')
    let rest = read(path)
    for (const part of code.split('// ...\n')) {
      // The page may take it with less indentation.
      const indented = [0, 2, 4].map(spaces => part.replace(/^(?=.)/gm, ' '.repeat(spaces)))
      const found = indented.find(each => rest.includes(each))
      expect(found, `${path}: ${part}`).toBeDefined()
      rest = rest.slice(rest.indexOf(found ?? '') + part.length)
    }
  }
})

test("the README's folders are the folders of src", () => {
  const rows = read('README.md').match(/^\| `src\/.*$/gm) ?? []
  const named = groupsOf(rows.join('\n'), /`src\/(\w+)`/g)
  const folders = readdirSync(join(root, 'src'), { withFileTypes: true }).filter(entry => entry.isDirectory())
  expect(named.sort()).toEqual(folders.map(entry => entry.name).sort())
})

/** The commands in the files of docs/deploy, which are lists or lines. */
const commandsToDeploy = readdirSync(join(root, 'docs/deploy'))
  .flatMap(file =>
    groupsOf(
      read(`docs/deploy/${file}`),
      /^ *(?:CMD |command: |ExecStart=).*?\baverba(?:\/dist\/cli\/main\.js)?(?![./\w])(.*)$/gm,
    ),
  )
  .map(more => more.replace(/[[\]",']+/g, ' ').trim())

test('the command lines in the pages are ones that averba takes', async () => {
  const lines = pages
    .flatMap(page => blocksOf(page).filter(block => block.info === 'sh'))
    .flatMap(({ code }) => code.split(/\n| && /))
    .flatMap(line => /^(?:npx )?averba (.*?)(?: +#.*| [>|] .*)?$/.exec(line)?.[1] ?? [])
    .concat(commandsToDeploy)
  expect(commandsToDeploy).toHaveLength(5)
  expect(lines.length).toBeGreaterThan(20)
  for (const line of lines) expect(await countStarts(line), line).toBe(1)
})

const portuguese = pages.filter(page => page.startsWith('docs/pt-BR/') && !page.endsWith('README.md'))

test.each(portuguese)('%s has the code, headings and rows of the English page', page => {
  const original = page.replace('pt-BR/', '')
  expect(blocksOf(page)).toEqual(blocksOf(original))
  const shape = (name: string) => {
    const prose = read(name).replace(/^```[\s\S]*?^```$/gm, '')
    return prose.match(/^#+ |^\||^(?:- |\d+\. )/gm)
  }
  expect(shape(page)).toEqual(shape(original))
})

test('the page about the log has a row for every table', () => {
  expect(groupsOf(read('docs/log.md'), /^\| `(\w+)` +\|/gm).sort()).toEqual([...tableNames].sort())
})

test('the code in the pages runs', async () => {
  // The Portuguese pages have the same code: the test below.
  const scripts = pages
    .filter(page => !page.includes('pt-BR'))
    .flatMap(page => blocksOf(page).filter(block => block.info === 'ts'))
  expect(scripts.length).toBeGreaterThanOrEqual(2)
  const alerts: string[] = []
  const webhook = createServer(async (request, response) => {
    alerts.push(JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString()).text)
    response.end()
  })
  const ALERTS_URL = `http://127.0.0.1:${await listenUntilEnd(webhook)}/`
  const all = await runScripts(scripts, ALERTS_URL)
  for (const words of [
    ...['true true REVOGADO\n', 'isDelivered: true', 'durable: requested\n', '60 handled in 60 days\n'],
    'REFUSED Cannot do this now: it is REVOGADO: only PENDENTE becomes ATIVO or NEGADO, and only ATIVO REVOGADO',
    'cpf of 11 digits, and who asked is in the log\nparts: true, found in the file: 0\nfaults of the receipt: 0\n',
    'faults of the receipt: 0\nSUBJECT_ERASED a new subject [secret]\n',
    'settled\n{ settled: 0, deferred: 0, unknown: 0 }\n4\n64\n',
    '26BR1 of 12ABC34501DE35 is REGISTRADA_AGUARDANDO_CANAL\nhandled \nfailing the body does not fit its schema',
    'match mismatch not-evaluated\nreused from order-1\nunknown inconclusive\nBUDGET_SPENT\norder-1 answered 26 \n',
    'order-1 answered 26 \norder-3 resolved 26 true\norder-4 answered 26 \ntoken requests: 1\n',
    'recorded subject.enrolled\n2 0 true 0 true\n',
    'alone self-consistent, against what was kept held: 2 events\nevent 1 is proven: true\n',
    'disclosed and proven: true, claims\nits part "claims" is not the one that the event names\n',
    'found in the file: 0, ends given up: 0\nfaults of the kept receipt: 0\n',
  ])
    expect(all).toContain(words)
  for (const form of [
    /settled ATIVO\nsettled ATIVO\n1 \S+ log\.began\n/,
    /'EXPIRADO',\s+'EXPIRADO',\s+'EXPIRADO',\s+'EXPIRADO'/,
    /then active today revoked\nfaults 0 signature right\n(.+ Serviço de consentimento\n)+/,
    /the former one: settled\nerror a client certificate could not be renewed.*\nbetween the files: settled\n/,
    /between the files: settled\nthe other one: settled\nit ends in 36\d days\n/,
    /restored up to 2; pending then: 0\n0 problems, \d+ bytes per event\n/,
  ])
    expect(all).toMatch(form)
  expect(alerts).toEqual([
    'the portal deletes the subscription dimp-situacao-import in 5 days',
    expect.stringMatching(/^consent-\S+: a denial or revocation of 2026-\S+ is not made$/),
    'the portal deletes the subscription dimp-situacao-import in 4 days',
  ])
}, 120_000)

test.each([
  ['docs/testing.md', 12],
  ['docs/troubles.md', 50],
  ['docs/threats.md', 14],
  ['docs/recipes.md', 7],
])('every row of the tables of %s that name tests has its tests', (page, rowsMin) => {
  const rows = [...read(page).matchAll(/^\| .+ \| ([\w/.-]+\.ts > .+) \|$/gm)]
  expect(rows.length).toBeGreaterThan(rowsMin)
  const named = rows.flatMap(([, tests = '']) => tests.split('<br>').map(test => test.split(' > ')))
  // Each of them exists, under this very title: a missing one is shown with its file.
  const missing = named.filter(
    ([file = '', title = '']) => !existsSync(join(root, 'test', file)) || !read(`test/${file}`).includes(`'${title}'`),
  )
  expect(missing).toEqual([])
  const tables = read(page).match(/^\| (?:trap|trouble|threat|recipe) \|.*\n\| --- .*\n(?:\|.*\n)+/gm) ?? []
  // And no row is without one.
  expect(tables.join('').match(/^\| (?!trap |trouble |threat |recipe |---)/gm)).toHaveLength(rows.length)
})

test('the page about running has every metric, field of a line, check, exit code and attribute', () => {
  const page = read('docs/running.md')
  const metrics = read('src/cli/metrics.ts')
  const names = [
    ...groupsOf(metrics, /counter\('(\w+)'/g).map(name => `averba_${name}_total`),
    ...groupsOf(metrics, /seconds\('(\w+)'/g).map(name => `averba_${name}_seconds`),
    ...groupsOf(metrics, /gauge\(\s*'(\w+)'/g).map(name => `averba_${name}`),
  ]
  expect(names.length).toBeGreaterThan(14)
  const rows = groupsOf(page, /^\| (`averba_.*)$/gm).flatMap(row => groupsOf(row, /`(averba_\w+)`/g))
  expect(rows.sort()).toEqual(names.sort())
  const adapters = ['adapters/receiver/receiver', 'adapters/opentelemetry']
  const spans = ['engine/performing/effect-runner', 'api/commands', ...adapters]
  for (const [atLeast, shown] of [
    [9, groupsOf(metrics, /, \[('.*')\]\)/g).flatMap(list => groupsOf(list, /'(\w+)'/g))],
    [11, groupsOf(read('src/vocabulary/log-line.ts'), /^ {2}(\w+): '(?:string|number)',$/gm)],
    [15, [...localChecks, ...tlsChecks, ...serviceNames, 'clock', ...examinedChecks]],
    [8, spans.flatMap(path => groupsOf(read(`src/${path}.ts`), /'((?:averba|error|http)\.[\w.]+)'/g))],
  ] as const) {
    expect(shown.length).toBeGreaterThanOrEqual(atLeast)
    for (const each of shown) expect(page).toContain(`\`${each}\``)
  }
  for (const code of ['0', '1', '70', '130, 143']) expect(page).toContain(`\n| ${code} | `)
})

test('every exported name of the glossary is exported', () => {
  const cells = groupsOf(read('docs/glossary.md'), /^\| .+ \| (.+) \|$/gm)
  const names = cells.flatMap(cell => groupsOf(cell, /`(\w+)/g))
  expect(names.length).toBeGreaterThan(20)
  const faces = ['src/index.ts', 'src/verify.ts', 'src/simulation/index.ts'].map(read).join()
  expect(names.filter(name => !new RegExp(`\\b${name}\\b`).test(faces))).toEqual([])
})

test('the page about simulating has a row for every kind of fault and every control', () => {
  const page = read('docs/simulating.md')
  for (const kind of faultSchema.shape.kind.options) expect(page).toContain(`| \`${kind}\` |`)
  const routes = [...read('src/simulation/served/control.ts').matchAll(/\b(post|get|delete)\('(\/[\w/-]+)'/g)]
  expect(routes.length).toBeGreaterThan(8)
  for (const [, method = '', route = ''] of routes)
    expect(page).toMatch(new RegExp(`${method.toUpperCase()} ${route}[ \`]`))
})

test('the page about what is not shown names every policy and every setting', () => {
  const page = read('docs/unspecified.md')
  const services = Object.values(policiesSchema.shape).map(each => each.unwrap().shape)
  const policies = services.flatMap(shape => Object.entries<z.ZodType>(shape))
  expect(policies.length).toBeGreaterThan(20)
  for (const [name, schema] of policies) {
    expect(page).toContain(`\`${name}\``)
    for (const setting of settingsOf(schema)) expect(page, name).toContain(setting)
  }
})

/** The words that a policy may be set to, as the page writes them, and its numbers. */
function settingsOf(schema: z.ZodType): string[] {
  const { enum: values = [], anyOf = [] } = z.toJSONSchema(schema)
  const words = [...values, ...anyOf.flatMap(each => ('const' in each ? [each.const] : []))]
  return words.map(word => (typeof word === 'string' ? `\`${word}\`` : String(word)))
}

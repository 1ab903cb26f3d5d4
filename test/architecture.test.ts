import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const source = resolve(import.meta.dirname, '../src')

interface Folder {
  /** The folders that it imports, types included. */
  readonly imports: readonly string[]
  readonly packages: readonly string[]
}

/** The top-level folders and files of `src`, lowest first, as the table of docs/architecture.md lists them. */
const folders: Record<string, Folder> = {}
const page = readFileSync(resolve(import.meta.dirname, '../docs/architecture.md'), 'utf8')
const [, rest = ''] = page.split('| folder | contents | may import | packages |\n')
const [table = ''] = rest.split('\n\n', 1)
for (const [, name = '', listed = '', packages = ''] of table.matchAll(
  /^\| `([\w.]+)` \|[^|]*\|([^|]*)\|([^|]*)\|$/gm,
)) {
  const imports = listed.trim() === 'all above' ? Object.keys(folders) : (listed.match(/[\w.]+/g) ?? [])
  folders[name] = { imports, packages: packages.trim().split(', ') }
}

/** Folders with ordered subfolders, their layers: each imports only the ones before it. */
const layers: Readonly<Record<string, readonly string[]>> = {
  store: ['database', 'log', 'ledger, parts', 'writing', 'views, owners', 'checkpoints', 'checks', 'files'],
  engine: ['recording', 'performing', 'following'],
}

/** The other areas that each area of the API imports. */
const areas: Readonly<Record<string, readonly string[]>> = {
  consents: [],
  log: [],
  notifications: [],
  validations: ['consents'],
  subscriptions: ['notifications'],
  receiver: ['subscriptions', 'notifications'],
  reports: ['consents'],
  subjects: ['consents', 'reports', 'notifications'],
  audit: ['subjects', 'reports'],
  health: ['consents', 'subscriptions', 'receiver'],
}

interface File {
  readonly path: string
  readonly text: string
  /** Paths below src for our own files, package names for packages. */
  readonly imports: readonly { readonly name: string; readonly isOurs: boolean }[]
}

const specifier = /^(?:import|export)\s[^'"=(]*?\sfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm

const files: readonly File[] = readdirSync(source, { recursive: true, withFileTypes: true })
  .filter(entry => entry.isFile())
  .map(entry => join(entry.parentPath, entry.name).slice(source.length + 1))
  .sort()
  .map(path => {
    const text = readFileSync(join(source, path), 'utf8')
    const imports = [...text.matchAll(specifier)].map(([, from, bare, dynamic]) => {
      const name = from ?? bare ?? dynamic ?? ''
      const isOurs = name.startsWith('.')
      return { name: isOurs ? posix.join(dirname(path), name) : name, isOurs }
    })
    return { path, text, imports }
  })

/** Every import between our own files. */
const localImports = files.flatMap(({ path, imports }) =>
  imports.filter(({ isOurs }) => isOurs).map(({ name }) => ({ from: path, to: name })),
)

const folderOf = (path: string) => path.split('/')[0] ?? ''
/** The subfolder of a file in its folder; empty for files directly in the folder. */
const layerOf = (path: string) => (path.split('/').length > 2 ? (path.split('/')[1] ?? '') : '')
const formatImport = ({ from, to }: Edge) => `${from} imports ${to}`

const packageOf = (name: string) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0] ?? ''

interface Edge {
  readonly from: string
  readonly to: string
}

/** The edges of a graph that lie on a cycle, or between two of them. */
function findCycles(edges: readonly Edge[]): readonly Edge[] {
  const [begins, ends] = [new Set(edges.map(({ from }) => from)), new Set(edges.map(({ to }) => to))]
  const left = edges.filter(({ from, to }) => ends.has(from) && begins.has(to))
  return left.length < edges.length ? findCycles(left) : left
}

test('every listed folder and layer exists and has files', () => {
  expect(files.length).toBeGreaterThan(300)
  expect(localImports.length).toBeGreaterThan(1_000)
  const found = new Set(files.map(({ path }) => folderOf(path)))
  expect(found).toEqual(new Set(Object.keys(folders)))
  const named = Object.entries(layers).map(([folder, levels]) => [folder, levels.join(', ').split(', ')] as const)
  for (const [folder, names] of [...named, ['api', Object.keys(areas)] as const]) {
    const subfolders = files.filter(({ path }) => folderOf(path) === folder).map(({ path }) => layerOf(path))
    expect(new Set(subfolders.filter(each => each !== ''))).toEqual(new Set(names))
  }
})

test('findCycles() finds a cycle and ignores a chain', () => {
  const edge = (from: string, to: string) => ({ from, to })
  const chain = [edge('a', 'b'), edge('b', 'c'), edge('c', 'd')]
  expect(findCycles(chain)).toEqual([])
  const cycle = [edge('a', 'b'), edge('b', 'c'), edge('c', 'a')]
  expect(findCycles([...cycle, edge('c', 'd'), edge('e', 'a')])).toEqual(cycle)
})

test('files have no import cycles', () => {
  expect(findCycles(localImports)).toEqual([])
})

test('folders have no import cycles', () => {
  // Files beside folders are shared by these folders or re-export them.
  const holding = new Set(files.map(({ path }) => dirname(dirname(path))))
  const between = localImports
    .map(({ from, to }) => ({ from: dirname(from), to: dirname(to) }))
    .filter(({ from, to }) => from !== to && !holding.has(from) && !holding.has(to))
  expect(between.length).toBeGreaterThan(200)
  expect(findCycles(between)).toEqual([])
})

describe.each(Object.entries(folders))('%s', (folder, { imports, packages }) => {
  const own = localImports.filter(({ from }) => folderOf(from) === folder)

  test('imports only the listed folders', () => {
    const wrong = own.filter(({ to }) => folderOf(to) !== folder && !imports.includes(folderOf(to)))
    expect(wrong.map(formatImport)).toEqual([])
  })

  test('imports only the listed packages', () => {
    const foreign = files
      .filter(({ path }) => folderOf(path) === folder)
      .flatMap(({ path, imports }) => imports.map(each => ({ ...each, from: path, to: each.name })))
      .filter(({ name, isOurs }) => !isOurs && !name.startsWith('node:'))
    expect(foreign.filter(({ name }) => !packages.includes(packageOf(name))).map(formatImport)).toEqual([])
  })
})

test.each(Object.entries(layers))('folders of %s import only lower folders', (folder, levels) => {
  const levelOf = (path: string) => levels.findIndex(level => level.split(', ').includes(layerOf(path)))
  const within = localImports.filter(({ from, to }) => folderOf(from) === folder && folderOf(to) === folder)
  const wrong = within.filter(({ from, to }) => {
    if (layerOf(from) === layerOf(to) || layerOf(from) === '' || layerOf(to) === '') return false
    return levelOf(from) <= levelOf(to)
  })
  expect(wrong.map(formatImport)).toEqual([])
})

test('an area of the API imports only the listed areas, and the base imports none', () => {
  const within = localImports.filter(({ from, to }) => folderOf(from) === 'api' && folderOf(to) === 'api')
  const wrong = within.filter(({ from, to }) => {
    const [own, other] = [layerOf(from), layerOf(to)]
    return other !== '' && other !== own && !areas[own]?.includes(other)
  })
  expect(wrong.map(formatImport)).toEqual([])
})

test('src/averba imports only the module of each area', () => {
  const known = localImports.filter(
    ({ from, to }) => folderOf(from) === 'averba' && folderOf(to) === 'api' && layerOf(to) !== '',
  )
  const own = Object.keys(areas).filter(area => area !== 'reports')
  expect(new Set(known.map(({ to }) => layerOf(to)))).toEqual(new Set(own))
  expect(known.filter(({ to }) => posix.basename(to) !== 'module.ts').map(formatImport)).toEqual([])
})

test('simulated services share only the wire schemas with the clients, no mapping and no machine', () => {
  const ofServices = localImports.filter(({ from }) => /^simulation\/(services|faults)\//.test(from))
  expect(new Set(ofServices.map(({ to }) => to)).size).toBeGreaterThan(10)
  const wrong = localImports.filter(
    // Opening sockets and limiting bodies does not depend on any service.
    ({ from, to }) =>
      folderOf(from) === 'simulation' && folderOf(to) === 'adapters' && !/\/wire\.ts$|^adapters\/http\//.test(to),
  )
  expect(wrong.map(formatImport)).toEqual([])
  const others = ofServices.filter(
    ({ to }) => !/^(vocabulary|runtime|simulation\/(services|faults|served))\//.test(to) && !to.endsWith('/wire.ts'),
  )
  expect(others.map(formatImport)).toEqual([])
})

test('averba/verify imports no package and no module of a runtime, so a browser can load it', () => {
  // Imports of types do not exist at run time.
  const atRunTime = /^(?:import|export)(?! type)\s[^'"=(]*?from '([^']+)'|(?:^import |\bimport\()'([^']+)'/gm
  const imported = files
    // What checks the receipts of erasures is for the engine alone: no other file of `proof` may import it.
    .filter(({ path }) => path === 'verify.ts' || (folderOf(path) === 'proof' && path !== 'proof/erasure.ts'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(atRunTime)].map(([, from = '', dynamic = from]) => `${path}: ${dynamic}`),
    )
  expect(imported.length).toBeGreaterThan(30)
  const isOurs = /^(?:verify\.ts: \.\/proof|proof\/[\w-]+\.ts: \.)\/(?!erasure)[\w-]+\.ts$/
  expect(imported.filter(each => !isOurs.test(each))).toEqual([])
})

test('every service has the same files', () => {
  for (const service of ['consent', 'token', 'validation', 'portal']) {
    const names = ['client.ts', 'protocol.ts', 'wire.ts'].map(name => `adapters/${service}/${name}`)
    expect(files.map(({ path }) => path)).toEqual(expect.arrayContaining(names))
  }
})

test('database drivers are loaded on first use', () => {
  const wrong = files.flatMap(({ path, text }) => {
    const imports = text.split('\n').filter(line => /^import (?!type).*'(node:sqlite|pg)'/.test(line))
    return imports.map(line => `${path}: ${line}`)
  })
  expect(wrong).toEqual([])
  expect(files.filter(({ text }) => text.includes("getBuiltinModule('node:sqlite')"))).toHaveLength(1)
})

test('only tools that run without the keyring, and checks that look at tags themselves, read headers without tags', () => {
  const readers = files.filter(({ text }) => /\b(?:parseHeader|untaggedHeaders)\b/.test(text)).map(file => file.path)
  expect(readers).toEqual([
    ...['api/health/examine.ts', 'operations/backups.ts', 'operations/replay.ts'],
    ...['check-index.ts', 'diagnose.ts', 'verify-store.ts'].map(name => `store/checks/${name}`),
    ...['copy-log.ts', 'export-log.ts', 'restore.ts'].map(name => `store/files/${name}`),
    ...['store/log/facts.ts', 'store/log/header.ts', 'store/log/tail.ts'],
  ])
  const made = files.filter(({ text }) => /new HeaderReader\(/.test(text)).map(file => file.path)
  expect(made).toEqual([
    ...['api/health/examine.ts', 'store/checks/check-store.ts', 'store/log/header.ts', 'store/store.ts'],
  ])
})

test('the sources contain no TODO comments', () => {
  const wrong = files.filter(file => /\b(TODO|FIXME|XXX|HACK)\b/.test(file.text)).map(file => file.path)
  expect(wrong).toEqual([])
})

test('no comment is wider than 120 columns', () => {
  const comment = /^\s*(?:\/\/|\/\*|\*)|\s\/\/ /
  const wrong = files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, i) => (line.length > 120 && comment.test(line) ? `${path}:${i + 1}` : [])),
  )
  expect(wrong).toEqual([])
})

test('every public export has a doc comment', () => {
  // Compared with the built declarations by CI.
  const reports = readdirSync(resolve(import.meta.dirname, '../etc')).filter(name => name.endsWith('.api.md'))
  expect(reports).toHaveLength(3)
  for (const name of reports) {
    const report = readFileSync(resolve(import.meta.dirname, '../etc', name), 'utf8')
    expect(report).toMatch(/^\/\/ @public$/m)
    expect(report, name).not.toMatch(/^\/\/ @public \(undocumented\)$/m)
  }
})

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '..')
const source = join(root, 'src')

/** The root vocabulary: everyone may import it, and it imports nothing else of ours. */
const vocabulary = [
  'message.ts',
  'errors.ts',
  'file-errors.ts',
  'clock.ts',
  'cpf.ts',
  'cnpj.ts',
  'printable.ts',
  'view.ts',
  'service-name.ts',
  'addresses.ts',
  'brasilia.ts',
]

/** Which layers each layer may import, downwards only. The table of docs/architecture.md. */
const layers: Record<string, { imports: readonly string[]; packages: readonly string[] }> = {
  vocabulary: { imports: [], packages: [] },
  machines: { imports: ['vocabulary'], packages: ['xstate'] },
  proof: { imports: ['vocabulary'], packages: [] },
  vault: { imports: ['vocabulary'], packages: [] },
  store: { imports: ['vocabulary', 'proof', 'vault'], packages: ['kysely', 'better-sqlite3', 'pg'] },
  views: { imports: ['vocabulary', 'machines'], packages: [] },
  pages: { imports: ['vocabulary', 'machines', 'proof'], packages: [] },
  adapters: {
    imports: ['vocabulary'],
    packages: [
      'undici',
      'p-retry',
      'hono',
      '@hono/node-server',
      'zod',
      '@peculiar/x509',
      'node-forge',
      'reflect-metadata',
      '@opentelemetry/api',
    ],
  },
  engine: {
    imports: ['vocabulary', 'machines', 'proof', 'vault', 'store', 'views', 'adapters'],
    packages: ['eventemitter3'],
  },
  api: {
    imports: ['vocabulary', 'machines', 'proof', 'vault', 'store', 'views', 'pages', 'adapters', 'engine'],
    packages: [],
  },
  simulation: { imports: ['vocabulary', 'adapters', 'api'], packages: [] },
  // The text that `averba init` writes imports averba by its name.
  cli: {
    imports: ['vocabulary', 'api', 'simulation', 'proof'],
    packages: ['commander', 'prom-client', 'averba'],
  },
}

interface File {
  readonly path: string
  readonly layer: string
  readonly text: string
  readonly lines: number
  /** Paths below src for our own files, names for packages. */
  readonly imports: readonly { readonly name: string; readonly isOurs: boolean }[]
}

const engine = [
  'engine',
  'attempts',
  'retry-policy',
  'taking',
  'throttle',
  'decisions',
  'due-calls',
  'find-due',
  'generational-cache',
  'knocking',
  'own-waits',
  'recorder',
  'places',
  'turns',
  'hints',
  'replayed',
].map(name => `${name}.ts`)

function layerOf(path: string): string {
  const [first = '', ...rest] = path.split('/')
  if (rest.length > 0) return first
  if (vocabulary.includes(first)) return 'vocabulary'
  return engine.includes(first) ? 'engine' : 'api'
}

function walk(folder: string): string[] {
  return readdirSync(folder).flatMap(name => {
    const path = join(folder, name)
    return statSync(path).isDirectory() ? walk(path) : [path]
  })
}

const specifier = /^(?:import|export)\s[^'"=(]*?\sfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gm

const files: File[] = walk(source).map(absolute => {
  const path = relative(source, absolute)
  const text = readFileSync(absolute, 'utf8')
  const imports = [...text.matchAll(specifier)].map(([, from, bare, dynamic]) => {
    const name = from ?? bare ?? dynamic ?? ''
    const isOurs = name.startsWith('.')
    return { name: isOurs ? relative(source, resolve(dirname(absolute), name)) : name, isOurs }
  })
  return { path, layer: layerOf(path), text, lines: text.split('\n').length, imports }
})

function packageOf(name: string): string {
  return name
    .split('/')
    .slice(0, name.startsWith('@') ? 2 : 1)
    .join('/')
}

test('there are files to look at, in every layer', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(new Set(files.map(file => file.layer))).toEqual(new Set(Object.keys(layers)))
  expect(files.flatMap(file => file.imports).length).toBeGreaterThan(200)
})

describe.each(Object.entries(layers))('%s', (layer, { imports, packages }) => {
  const own = files.filter(file => file.layer === layer)

  test('imports downwards only', () => {
    const wrong = own.flatMap(file =>
      file.imports
        .filter(({ name, isOurs }) => isOurs && layerOf(name) !== layer && !imports.includes(layerOf(name)))
        .map(({ name }) => `${file.path} imports ${name}`),
    )
    expect(wrong).toEqual([])
  })

  test('keeps other packages out', () => {
    const wrong = own.flatMap(file =>
      file.imports
        .filter(
          ({ name, isOurs }) => !isOurs && !name.startsWith('node:') && !packages.includes(packageOf(name)),
        )
        .map(({ name }) => `${file.path} imports ${name}`),
    )
    expect(wrong).toEqual([])
  })
})

test('a simulator shares the wire schemas with the client, and no mapping and no machine', () => {
  // The portal's simulator is several files; what each of them imports counts.
  const own = /^adapters\/(policies|\w+\/(simulator|simulated-[\w-]+|subscription-life))\.ts$/
  const simulators = files.filter(file => own.test(file.path))
  expect(simulators.filter(file => file.path.endsWith('/simulator.ts'))).toHaveLength(4)
  expect(simulators.map(file => file.path)).toContain('adapters/portal/subscription-life.ts')
  const vocabularyOrWire =
    /^(adapters\/(?:\w+\/wire|serve|connection-errors|drain|within-time|gateway-error)|clock|errors|cpf|cnpj|brasilia)\.ts$/
  const isShared = (name: string) => own.test(name) || vocabularyOrWire.test(name)
  const wrong = simulators.flatMap(file =>
    file.imports
      .filter(({ name, isOurs }) => !(isOurs ? isShared(name) : /^(hono|zod|node:\w+)$/.test(name)))
      .map(({ name }) => `${file.path}: ${name}`),
  )
  expect(wrong).toEqual([])
})

test('every service has the same files', () => {
  for (const service of ['consent', 'token', 'validation', 'portal']) {
    const names = files
      .filter(file => file.path.startsWith(`adapters/${service}/`))
      .map(file => file.path.split('/')[2])
    expect(names).toEqual(expect.arrayContaining(['client.ts', 'protocol.ts', 'simulator.ts', 'wire.ts']))
  }
})

test('database drivers are loaded on first use only', () => {
  const wrong = files.flatMap(({ path, text }) => {
    const imports = text.split('\n').filter(line => /^import (?!type).*'(better-sqlite3|pg)'/.test(line))
    return imports.map(line => `${path}: ${line}`)
  })
  expect(wrong).toEqual([])
  expect(files.filter(({ text }) => text.includes("await import('better-sqlite3')"))).toHaveLength(1)
})

test('no file has outgrown 330 lines', () => {
  expect(files.filter(file => file.lines > 330).map(file => `${file.path}: ${file.lines}`)).toEqual([])
})

test('nothing is put off in the text', () => {
  const wrong = files.filter(file => /\b(TODO|FIXME|XXX|HACK)\b/.test(file.text)).map(file => file.path)
  expect(wrong).toEqual([])
})

test('no comment is wider than 120 columns', () => {
  const comment = /^\s*(?:\/\/|\/\*|\*)|\s\/\/ /
  const wrong = files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .flatMap((line, i) => (line.length > 120 && comment.test(line) ? `${path}:${i + 1}` : [])),
  )
  expect(wrong).toEqual([])
})

test('every export has a comment that says what it is', () => {
  const wrong = files.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, i) => {
      const name = /^export (?:async )?(?:function\*?|class|interface|type|const) (\w+)/.exec(line)?.[1]
      const above = lines[i - 1] ?? ''
      return name === undefined || above.endsWith('*/') ? [] : [`${path}: ${name}`]
    })
  })
  expect(wrong).toEqual([])
})

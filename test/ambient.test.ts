import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import Sqlite from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { walkThroughManyCalls } from './simulation/world/many-calls.ts'

/**
 * Time, randomness and the network come through `Clock`, `Entropy` and `Fetch`, which are passed in. Everything in
 * `src` that takes them from the surroundings stands here, with the reason.
 */
const ambient: Record<string, { pattern: RegExp; allowed: Record<string, string> }> = {
  'the time of the machine': {
    pattern:
      /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new |\.)\bDate\(|\bperformance\.|\bhrtime\b|\buptime\(|\bTemporal\b/,
    allowed: {
      'runtime/clock.ts': 'it is where the time comes from',
      'cli/program.ts': 'says how long the demonstration took',
    },
  },
  'timers of the machine': {
    pattern:
      /\bset(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|node:timers|\bscheduler\.|\bAtomics\.wait/,
    allowed: {
      'runtime/clock.ts': 'it is where timers come from',
      'runtime/event-loop.ts': 'it is where turns of the event loop come from',
      'adapters/http/transport.ts': 'the budget of a real socket counts real time, whatever the clock says',
      'cli/commands/dev.ts': 'another process on loopback has real time to say that it is there',
    },
  },
  'the clock of the machine, taken and not passed in': {
    pattern: /\bsystem(Clock|Entropy)\b/,
    allowed: {
      'runtime/clock.ts': 'makes one of them',
      'runtime/entropy.ts': 'makes the other',
      'adapters/receiver/serve-receivers.ts': 'a real server ends in real time',
      'averba/averba.ts': 'what an engine goes by when its host names nothing else',
      'cli/commands/run.ts': 'a process of an operator, on the machine it runs on',
      'api/health/examine.ts': 'the findings of an operator’s tool, when no clock is given',
      'index.ts': 'hands it to hosts who wrap it',
      'vault/keys.ts': 'what a root key of the environment goes by when its host names nothing else',
      'operations/diagnose.ts': 'the tools of operators work on a log whose engine may not run',
      'operations/backup.ts': 'so do these',
      'operations/verify.ts': 'and this one',
      'operations/with-store.ts': 'and these',
      'simulation/served/open-connections.ts': 'real sockets part in real time',
      'adapters/credentials/source.ts': 'a vault that hangs does so in real time',
      'adapters/http/transport.ts': 'so does one that gives the certificate of a real socket',
      'store/database/own-files.ts': 'the file system has the time of the machine',
      'store/database/sqlite.ts': 'the lock of another process is held in real time',
      'simulation/served/shifted-clock.ts': 'is the clock of the machine, and ahead of it',
      'simulation/served/start-services.ts': 'real servers: what they go by when nothing else is named',
      'simulation/served/deliver-over-sockets.ts': 'a delivery over a real socket takes real time',
    },
  },
  'randomness of the machine': {
    pattern:
      /\bMath\.random\b|\brandom(UUID|Bytes|Int|Fill|FillSync)\b|\bgetRandomValues\b|\bgenerateKey(Pair|Sync|PairSync)?\b|\bnanoid\b/,
    allowed: {
      'runtime/entropy.ts': 'it is where randomness comes from',
      'simulation/served/authority.ts':
        'keys of the certificates of simulated servers: real TLS, no part of any log',
    },
  },
  'the network': {
    pattern:
      /(?<!\.|\w|async )fetch\((?!request: )|globalThis|node:(https?|http2|net|tls|dgram|dns)'|'undici'|\bWebSocket\b/,
    allowed: {
      'adapters/http/transport.ts': 'the only sockets of the clients',
      'simulation/served/serve.ts': 'the simulated services as real servers',
      'adapters/receiver/serve-receivers.ts': 'the receiver as a real server',
      'adapters/credentials/server-certificates.ts': 'the certificates of real servers',
      'adapters/receiver/source-ranges.ts': 'compares addresses, and opens nothing',
      'simulation/served/start-services.ts': 'compares addresses, and opens nothing',
      'cli/commands/demo.ts': 'a real server for the demonstration',
      'cli/commands/dev.ts': 'a real server, and the control server on loopback',
      'cli/status-server.ts': 'a real server for probes and metrics',
      'pages/page-script.ts': 'asks the browser that shows a page for its crypto',
      'proof/sha256.ts': 'asks which runtime it is in, for its fastest hash',
    },
  },
  'the process that it runs in': {
    pattern: /\bprocess\.(pid|ppid|memoryUsage|cpuUsage)\b|\bhostname\(|\bnetworkInterfaces\(/,
    allowed: {
      'store/checkpoints/high-water-mark.ts':
        'two processes of a log write files of two names, which are gone at once',
    },
  },
}

const source = resolve(import.meta.dirname, '../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts'))
  .map(path => ({ path, text: codeOf(readFileSync(join(source, path), 'utf8')) }))

/** The text without comments, and without types of other modules: they do nothing. */
function codeOf(text: string): string {
  return text
    .replace(/^import type .*$/gm, '')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
}

describe.each(Object.entries(ambient))('%s', (_, { pattern, allowed }) => {
  test('is taken where it is allowed, and nowhere else', () => {
    const found = files.filter(file => pattern.test(file.text)).map(file => file.path)
    expect(found.sort()).toEqual(Object.keys(allowed).sort())
  })
})

/** What SQLite and PostgreSQL know of time and chance by themselves, whatever stands around it. */
const ofTheDatabase =
  /'now'|\bcurrent_(time|date|timestamp)\b|\blocaltime\b|\b(now|random|randomblob|date|time|datetime|julianday|unixepoch|strftime|timediff|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|gen_random_uuid|uuid_generate_v4|setseed)\s*\(/i

test('no statement that is run takes time or chance from the database', async () => {
  const prepared = new Set<string>()
  const { prepare } = Sqlite.prototype
  // Seen, and not changed: the database gets every statement as it is.
  Sqlite.prototype.prepare = function (this: Sqlite.Database, sql: string) {
    prepared.add(sql)
    return prepare.call(this, sql)
  } as typeof prepare
  onTestFinished(() => {
    Sqlite.prototype.prepare = prepare
  })
  const { world } = await walkThroughManyCalls(1, 3)
  await world.averba.rebuild()
  await world.close()
  expect(prepared.size).toBeGreaterThan(80)
  expect([...prepared].filter(sql => ofTheDatabase.test(sql))).toEqual([])
  expect([...prepared].some(sql => sql.startsWith('create table'))).toBe(true)
})

test('no text of a statement takes time or chance from the database', () => {
  const statements = files
    .filter(file => /^(store|views)\//.test(file.path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/'(?:[^'\\\n]|\\.)*'|`[^`]*`|"[^"\n]*"/g)]
        .map(([literal]) => literal.slice(1, -1))
        .filter(literal => /\b(select|insert|update|delete|create|with|values|set)\b/i.test(literal))
        .map(literal => `${path}: ${literal}`),
    )
  expect(statements.length).toBeGreaterThan(60)
  expect(statements.filter(text => ofTheDatabase.test(text))).toEqual([])
})

import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createPlan } from './campaign/plan.ts'
import { runSteps } from './campaign/run-steps.ts'

/**
 * Time, randomness, the network and the streams come from `Clock`, `Entropy`, `Fetch` and `Terminal`, which are passed in.
 * This lists every file in `src` that uses the globals directly, with the reason.
 */
const ambient: Record<string, { pattern: RegExp; allowed: Record<string, string> }> = {
  'the time of the machine': {
    pattern: /\bDate\.now\b|\bnew Date\(\s*\)|(?<!new |\.)\bDate\(|\bperformance\.|\bhrtime\b|\buptime\(|\bTemporal\b/,
    allowed: {
      'runtime/clock.ts': 'the system clock',
      'cli/commands/demo.ts': 'prints how long the demonstration took',
    },
  },
  'timers of the machine': {
    pattern: /\bset(Timeout|Interval|Immediate)\b|\bAbortSignal\.timeout\b|node:timers|\bscheduler\.|\bAtomics\.wait/,
    allowed: {
      'runtime/clock.ts': 'the system clock',
      'runtime/event-loop.ts': 'waits for turns of the event loop',
      'adapters/http/transport.ts': 'the time limit of a real socket is in real time',
      'adapters/http/outbound-proxy.ts': 'the time limit of a tunnel over real sockets',
      'cli/running-control.ts': 'waits for another process in real time',
      'cli/main.ts': 'notices the end of npx',
      'console/assets.ts': 'the script of a page, in a browser',
    },
  },
  'the clock of the machine, taken and not passed in': {
    pattern: /\bsystem(Clock|Entropy)\b/,
    allowed: {
      'runtime/clock.ts': 'defines the clock',
      'runtime/entropy.ts': 'defines the entropy',
      'adapters/receiver/serve-receivers.ts': 'a real server closes in real time',
      'averba/averba.ts': 'the default of an engine',
      'store/checkpoints/high-water-mark.ts': 'keeps the temporary files of two processes apart',
      'cli/commands/run.ts': 'a command of an operator',
      'cli/commands/demo.ts': 'the demonstration ends before now',
      'cli/commands/log.ts': 'it looks for new events again',
      'console/overview.ts': 'it counts what expires from now on',
      'cli/output.ts': 'it says how far away an instant is',
      'api/health/module.ts': 'a probe waits in real time',
      'api/http-clients.ts': 'the time limit of a host’s own fetch is in real time',
      'api/health/examine.ts': 'the default of an operator’s tool',
      'index.ts': 'exports it for hosts that wrap it',
      'vault/keys.ts': 'the default of a root key from the environment',
      'operations/moves.ts': 'a tool of operators, without an engine',
      'operations/upkeep.ts': 'a tool of operators, without an engine',
      'operations/backups.ts': 'a tool of operators, without an engine',
      'operations/audit.ts': 'a tool of operators, without an engine',
      'operations/with-store.ts': 'a tool of operators, without an engine',
      'adapters/credentials/secret.ts': 'the time limit of a vault is in real time',
      'vault/keyring-store.ts': 'the time limit of a key service is in real time',
      'adapters/credentials/renewed-certificate.ts': 'the time limit of a vault is in real time',
      'store/database/own-files.ts': 'compares with times of the file system',
      'store/database/postgres-connection.ts': 'waits for a server in real time',
      'engine/engine.ts': 'what is recorded at the end takes real time',
      'engine/following/followers.ts': 'what is released at the end takes real time',
      'store/store.ts': 'what is written at the end takes real time',
      'store/checkpoints/checkpoints.ts': 'the last checkpoint takes real time',
      'store/database/postgres-pool.ts': 'waits for a connection in real time',
      'store/database/pool-watch.ts': 'waits for other processes on a server in real time',
      'store/database/server-time.ts': 'counts the time of a server on',
      'store/ledger/lease.ts': 'only a host with the clock of its machine takes the time of a server for leases',
      'store/database/sqlite-connection.ts': 'waits for the lock of another process in real time',
      'simulation/served/shifted-clock.ts': 'a clock that runs ahead of the system clock',
      'simulation/served/start-services.ts': 'the default of real servers, and the time of real deliveries',
    },
  },
  'randomness of the machine': {
    pattern:
      /\bMath\.random\b|\brandom(UUID|Bytes|Int|Fill|FillSync)\b|\bgetRandomValues\b|\bgenerateKey(Pair|Sync|PairSync)?\b|\bnanoid\b/,
    allowed: {
      'runtime/entropy.ts': 'the system entropy',
      'store/database/postgres-connection.ts': 'names a process among those of a server, in no event',
      'console/serve-console.ts': 'the token in the address of a console',
      'console/page.ts': 'the ids of forms',
      'simulation/served/authority.ts': 'keys for certificates of simulated servers, which no log contains',
      'simulation/served/write-certificate.ts': 'their serial numbers',
    },
  },
  'the network': {
    pattern:
      /(?<!\.|\w|async )fetch\((?!request: )|globalThis|node:(https?|http2|net|tls|dgram|dns)'|'undici'|\bWebSocket\b/,
    allowed: {
      'adapters/http/transport.ts': 'the only sockets of the clients',
      'adapters/http/outbound-proxy.ts': 'the tunnels that these sockets go through',
      'api/http-clients.ts': 'calls a host’s own fetch',
      'api/options.ts': 'an example for the configuration of a host',
      'simulation/served/serve.ts': 'the simulated services as real servers',
      'adapters/receiver/serve-receivers.ts': 'the receiver as a real server',
      'adapters/credentials/certificate.ts': 'checks that TLS takes a certificate',
      'adapters/credentials/server-certificates.ts': 'the certificates of real servers',
      'adapters/receiver/sender.ts': 'only compares addresses',
      'simulation/served/start-services.ts': 'only compares addresses',
      'api/health/port-checks.ts': 'it tries the ports of averba run',
      'cli/commands/dev.ts': 'the control server on loopback',
      'cli/running-control.ts': 'the control server on loopback',
      'cli/status-server.ts': 'a real server for probes and metrics',
      'console/assets.ts': 'the script of a page, in a browser',
      'pages/page-script.ts': 'uses the crypto of the browser',
      'proof/encoding.ts': 'detects the runtime, for its fastest hash',
      'vocabulary/listen.ts': 'lets a real server listen',
      'vocabulary/runtime-commands.ts': 'detects the runtime, for its commands',
    },
  },
  'the streams, signals and end of the process': {
    pattern: /\bconsole\.\w+\(|\bprocess\.(std(in|out|err)|exit|argv|on\(|once\()/,
    allowed: { 'cli/main.ts': 'gives them to the commands', 'api/options.ts': 'a text that hosts run' },
  },
  'the process that it runs in': {
    pattern: /\bprocess\.(pid|ppid|memoryUsage|cpuUsage)\b|\bhostname\(|\bnetworkInterfaces\(/,
    allowed: { 'cli/main.ts': 'notices the end of npx' },
  },
}

const source = resolve(import.meta.dirname, '../src')
const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter(path => path.endsWith('.ts'))
  .map(path => ({ path, text: codeOf(readFileSync(join(source, path), 'utf8')) }))

/** Removes comments and type imports. */
function codeOf(text: string): string {
  return text
    .replace(/^import type .*$/gm, '')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/(^|\s)\/\/.*$/gm, '')
}

describe.each(Object.entries(ambient))('%s', (_, { pattern, allowed }) => {
  test('is used only in the allowed files', () => {
    const found = files.filter(file => pattern.test(file.text)).map(file => file.path)
    expect(found.sort()).toEqual(Object.keys(allowed).sort())
  })
})

/** The time and random functions of SQLite and PostgreSQL. */
const ofTheDatabase =
  /'now'|\bcurrent_(time|date|timestamp)\b|\blocaltime\b|\b(now|random|randomblob|date|time|datetime|julianday|unixepoch|strftime|timediff|clock_timestamp|statement_timestamp|transaction_timestamp|timeofday|gen_random_uuid|uuid_generate_v4|setseed)\s*\(/i

test('no executed SQL statement takes the time or random values from the database', async () => {
  const prepared = new Set<string>()
  const { prepare } = DatabaseSync.prototype
  // Only records the statements.
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, sql: string) {
    prepared.add(sql)
    return prepare.call(this, sql)
  } as typeof prepare
  onTestFinished(() => {
    DatabaseSync.prototype.prepare = prepare
  })
  expect(await runSteps(1, [...createPlan(1, 3), { do: 'rebuild', id: -1, at: 0 }])).toMatchObject({ failures: [] })
  expect(prepared.size).toBeGreaterThan(80)
  expect([...prepared].filter(sql => ofTheDatabase.test(sql))).toEqual([])
  expect([...prepared].some(sql => sql.startsWith('create table'))).toBe(true)
})

test('no SQL text in the sources takes the time or random values from the database', () => {
  const statements = files
    .filter(file => /^(store|views)\//.test(file.path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/'(?:[^'\\\n]|\\.)*'|`[^`]*`|"[^"\n]*"/g)]
        .map(([literal]) => literal.slice(1, -1))
        .filter(literal => /\b(select|insert|update|delete|create|with|values|set)\b/i.test(literal))
        .map(literal => `${path}: ${literal}`),
    )
  expect(statements.length).toBeGreaterThan(60)
  // The leases of a fleet count in the time of its server; no event has it.
  const own = (text: string) => text.startsWith('store/database/server-time.ts: ')
  expect(statements.filter(text => ofTheDatabase.test(text) && !own(text))).toEqual([])
  expect(statements.filter(own)).toHaveLength(1)
})

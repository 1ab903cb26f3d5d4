/** A child process that appends with many callers at once, until it has done what was asked or is killed. */
import Sqlite, { type Database } from 'better-sqlite3'
import type { Store } from '../../src/store/store.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import { acknowledge, appendOf, type LoadOptions, openStore, say } from './load.ts'

const options = JSON.parse(process.argv[2] ?? '') as LoadOptions // Written by the parent.
if (options.pid !== undefined) Object.defineProperty(process, 'pid', { value: options.pid })
/** One fault is injected, and no more: what fails again is broken. */
const attemptsMax = 3

const store = await again(openIt)
if (store) {
  say({ said: 'opened' })
  await Promise.all(Array.from({ length: options.callers }, (_, caller) => call(store, caller)))
  await store.close()
  say({ said: 'closed' })
}

/** The store keeps its connection to itself: it is seen here as it is opened. */
async function openIt(): Promise<Store> {
  const { pragma } = Sqlite.prototype
  let database: Database | undefined
  Sqlite.prototype.pragma = function (this: Database, ...given: Parameters<typeof pragma>) {
    database = this
    return pragma.apply(this, given)
  }
  try {
    const opened = await openStore(options.path, options.seed)
    if (options.isWeakened) database?.pragma('synchronous = normal')
    if (options.checkpointPages) database?.pragma(`wal_autocheckpoint = ${options.checkpointPages}`)
    return opened
  } finally {
    Sqlite.prototype.pragma = pragma
  }
}

/** Every caller has a stream of its own; some appends go to one that all share, some to one that all fight for. */
async function call(log: Store, caller: number): Promise<void> {
  const own = `token-${options.seed}-${caller}`
  const { appends = Number.POSITIVE_INFINITY } = options
  let version = 0
  let contested = 0
  for (let n = 1; n <= appends; n++) {
    const commandId = `${options.seed}-${caller}-${n}`
    const streams = [
      { stream: own, expect: version },
      ...(n % 3 === 0 ? [{ stream: 'token-shared', expect: 'any' as const }] : []),
      ...(n % 5 === 0 ? [{ stream: 'token-contested', expect: contested }] : []),
    ]
    const appended = await again(() => log.append(appendOf(log, commandId, streams)))
    if (appended?.status === 'appended') {
      acknowledge(commandId, appended)
      version += 1
    } else if (appended?.status === 'conflict') {
      const [last] = await log.read({ stream: 'token-contested', backward: true, limit: 1 })
      contested = last?.version ?? 0
    } else if (appended) {
      say({ said: 'broken', what: 'a command that failed was there all the same' })
    }
  }
}

async function again<T>(work: () => Promise<T>): Promise<T | undefined> {
  for (let attempts = 1; attempts <= attemptsMax; attempts++) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AverbaError) say({ said: 'failed', code: error.code })
      else say({ said: 'broken', what: String(error) })
    }
  }
  say({ said: 'broken', what: 'it went on failing' })
  return undefined
}

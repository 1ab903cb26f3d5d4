import { DatabaseSync } from 'node:sqlite'
/** A child process that appends with many concurrent callers, until it has done all appends or is killed. */
import { setTimeout as after } from 'node:timers/promises'
import type { Store } from '../../src/store/store.ts'
import { AverbaError } from '../../src/vocabulary/errors.ts'
import { createAppend, type LoadOptions, openStore, sendMessage } from './load.ts'

const options = JSON.parse(process.argv[2] ?? '') as LoadOptions // Written by the parent.
/** Only one fault is injected, so repeated failures are a defect. A server is back after seconds. */
const [attemptsMax, pauseMs] = options.keyring === undefined ? [3, 0] : [200, 100]

const store = await retry(openWithOptions)
if (store) {
  sendMessage({ type: 'opened' })
  await Promise.all(Array.from({ length: options.callers }, (_, caller) => runCaller(store, caller)))
  await store.close()
  sendMessage({ type: 'closed' })
}

/** Opens the store, and catches its private connection to set options on it. */
async function openWithOptions(): Promise<Store> {
  const { prepare } = DatabaseSync.prototype
  let database: DatabaseSync | undefined
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, ...given: Parameters<typeof prepare>) {
    if (given[0].startsWith('pragma synchronous')) database = this
    return prepare.apply(this, given)
  }
  try {
    const opened = await openStore(options.path, options.seed, undefined, options.keyring)
    if (options.isWeakened) database?.exec('pragma synchronous = normal')
    if (options.checkpointPages) database?.exec(`pragma wal_autocheckpoint = ${options.checkpointPages}`)
    return opened
  } finally {
    DatabaseSync.prototype.prepare = prepare
  }
}

/** Appends to the caller's own stream. Some appends also use a shared stream, and some one with a version conflict. */
async function runCaller(log: Store, caller: number): Promise<void> {
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
    const appended = await retry(() => log.append(createAppend(log, commandId, streams)))
    if (appended?.status === 'appended') {
      const events = appended.events.map(({ id, position }) => ({ id, position }))
      sendMessage({ type: 'acknowledged', commandId, events })
      version += 1
    } else if (appended?.status === 'conflict') {
      const [last] = await log.read({ stream: 'token-contested', backward: true, limit: 1 })
      contested = last?.version ?? 0
    } else if (appended) sendMessage({ type: 'broken', what: 'a failed command is in the log' })
  }
}

async function retry<T>(work: () => Promise<T>): Promise<T | undefined> {
  for (let attempts = 1; attempts <= attemptsMax; attempts++) {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AverbaError) sendMessage({ type: 'failed', code: error.code })
      else sendMessage({ type: 'broken', what: String(error) })
      if (pauseMs > 0) await after(pauseMs)
    }
  }
  sendMessage({ type: 'broken', what: 'it failed repeatedly' })
  return undefined
}

import { copyFileSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { AverbaError, diagnoseStore, openAverba, verifyLog } from '../../src/index.ts'
import { eraseSamplePersons } from '../support/explained-absences.ts'
import { notify } from '../support/notify.ts'
import { makeSampleStore } from '../support/sample-store.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import type { Mutation } from './mutations.ts'

/** A tried mutation, with the checks that found it, and whether doctor calls a store well that does not open. */
export interface TriedMutation {
  readonly mutation: Mutation
  readonly found: readonly string[]
  readonly isUntold: boolean
}

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

/** Makes a closed log with all kinds of rows, an older copy of it, and another log, with their keyrings and marks. */
export async function makeSample(notifications: number): Promise<string> {
  const store = await makeSampleStore(notifications, eraseSamplePersons)
  for (const end of ['', '.mark']) copyFileSync(`${store}${end}`, `${store}.older${end}`)
  // Opened once more, so that the log has a later checkpoint than the older copy.
  const averba = await openAverba({ store, receiver })
  for (let later = 0; later < 5; later++) await notify(averba, { later })
  await averba.close()
  const other = temporaryStore()
  await (await openAverba({ store: other })).close()
  for (const end of ['', '.keys']) copyFileSync(`${other}${end}`, `${store}.other${end}`)
  return store
}

const beside = ['', '.keys', '.mark', '.older', '.older.mark', '.other', '.other.keys']

/** Tries mutations, each on its own copy of the sample. */
export async function tryAll(sample: string, mutations: readonly Mutation[]): Promise<TriedMutation[]> {
  const tried: TriedMutation[] = []
  for (const mutation of mutations) {
    const store = temporaryStore()
    for (const end of beside) copyFileSync(`${sample}${end}`, `${store}${end}`)
    mutation.apply(store)
    const found = await findFaults(store)
    const isUntold = !(await opens(store)) && (await isWell(store))
    tried.push({ mutation, found, isUntold })
    rmSync(dirname(store), { recursive: true })
  }
  return tried
}

async function isWell(store: string): Promise<boolean> {
  const diagnosis = await diagnoseStore({ store, isDeep: true }).catch(() => undefined)
  return diagnosis?.problems.length === 0
}

async function opens(store: string): Promise<boolean> {
  try {
    await (await openAverba({ store, receiver })).close()
    return true
  } catch {
    return false
  }
}

async function findFaults(store: string): Promise<string[]> {
  try {
    const { level, faults } = await verifyLog({ store })
    return level === 'broken' ? faults.map(fault => fault.check) : []
  } catch (error) {
    if (error instanceof AverbaError) return [error.code]
    throw error
  }
}

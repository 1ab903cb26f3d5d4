import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { AverbaError, openAverba, verifyLog } from '../../src/index.ts'
import { eraseSamplePersons } from '../store/explained-absences.ts'
import { makeSampleStore, newPath } from '../store/sample-store.ts'
import { type Mutation, mutationsOf } from './mutations.ts'

/** What became of one mutation: which checks found it, or none. */
export interface Tried {
  readonly mutation: Mutation
  readonly found: readonly string[]
}

/** A closed log with all kinds of rows, an older copy of it, and another log, each with keyring and mark. */
export async function makeSample(notifications: number): Promise<string> {
  const store = await makeSampleStore(notifications, eraseSamplePersons)
  for (const end of ['', '.mark']) copyFileSync(`${store}${end}`, `${store}.older${end}`)
  // A second life: another checkpoint, behind which the older copy stays.
  const averba = await openAverba({ store, receiver: { publicUrl: 'https://receptor.exemplo.br/averba' } })
  for (let i = 0; i < 5; i++) {
    const headers = { 'event-type': 'e', 'destinatario-tipo': 'CNPJ', 'destinatario-id': '12ABC34501DE35' }
    const request = new Request('https://receptor.exemplo.br/averba', {
      method: 'POST',
      headers,
      body: `{"later":${i}}`,
    })
    await averba.receiver.fetch(request, { remoteAddress: '161.148.0.1' })
  }
  await averba.close()
  const other = newPath()
  await (await openAverba({ store: other })).close()
  for (const end of ['', '.keys']) copyFileSync(`${other}${end}`, `${store}.other${end}`)
  return store
}

const beside = ['', '.keys', '.mark', '.older', '.older.mark', '.other', '.other.keys']

/** Tries mutations on copies of a sample, one after the other. */
export async function tryAll(
  sample: string,
  mutations: readonly Mutation[],
  onTried: (tried: Tried) => void = () => undefined,
): Promise<Tried[]> {
  const tried: Tried[] = []
  for (const mutation of mutations) {
    const store = join(mkdtempSync(join(tmpdir(), 'averba-tamper-')), 'log.sqlite')
    for (const end of beside) copyFileSync(`${sample}${end}`, `${store}${end}`)
    mutation.apply(store)
    const one = { mutation, found: await findFaults(store) }
    rmSync(dirname(store), { recursive: true })
    tried.push(one)
    onTried(one)
  }
  return tried
}

/** The mutations of a sample, of each table and column a few rows. */
export function allOf(sample: string, rowsMax: number): Mutation[] {
  return mutationsOf(sample, rowsMax)
}

/** Which checks say that something is wrong; none when the log still counts as whole. */
async function findFaults(store: string): Promise<string[]> {
  try {
    const { level, faults } = await verifyLog({ store })
    return level === 'broken' ? faults.map(fault => fault.check) : []
  } catch (error) {
    if (error instanceof AverbaError) return [error.code]
    throw error
  }
}

/**
 * Appends through the whole engine (machine, receipt, effect, view, sealed part, `synchronous=FULL`) against
 * the limit of the same file system in the same run: raw inserts of rows of the same size, one per transaction.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { openAverba } from '../src/index.ts'

const rounds = 5
const appendsPerRound = 500
const rowBytes = 700

/** Runs the rounds interleaved, after one to warm up, and returns medians. */
export async function benchStore(say: (line: string) => void): Promise<Record<string, number>> {
  const folder = mkdtempSync(join(tmpdir(), 'averba-bench-'))
  const rates: Record<'raw' | 'handle', number[]> = { raw: [], handle: [] }
  const averba = await openAverba({ store: join(folder, 'averba.sqlite') })
  const raw = new Sqlite(join(folder, 'raw.sqlite'))
  raw.pragma('journal_mode = wal')
  raw.pragma('synchronous = full')
  raw.exec('create table row (id integer primary key, bytes blob) strict')
  const insert = raw.prepare('insert into row (bytes) values (?)')
  try {
    for (let round = 0; round <= rounds; round++) {
      const rawRate = await rateOf(async () => void insert.run(Buffer.alloc(rowBytes, round)))
      const handleRate = await rateOf(
        async i => void (await averba.consents.enrol({ cpf: cpfOf(round * appendsPerRound + i) })),
      )
      if (round === 0) continue
      rates.raw.push(rawRate)
      rates.handle.push(handleRate)
      say(`round ${round}: raw ${Math.round(rawRate)}/s, through the engine ${Math.round(handleRate)}/s`)
    }
  } finally {
    raw.close()
    await averba.close()
    rmSync(folder, { recursive: true })
  }
  const ratios = rates.handle.map((rate, i) => rate / (rates.raw[i] ?? 1))
  const figures = {
    rawPerSecond: Math.round(medianOf(rates.raw)),
    handlePerSecond: Math.round(medianOf(rates.handle)),
    handle1: Number(medianOf(ratios).toFixed(3)),
  }
  say(`one caller, enrolling: ${figures.handlePerSecond}/s, ${figures.handle1} of raw inserts`)
  return figures
}

async function rateOf(work: (i: number) => Promise<void>): Promise<number> {
  const started = performance.now()
  for (let i = 0; i < appendsPerRound; i++) await work(i)
  return appendsPerRound / ((performance.now() - started) / 1_000)
}

function medianOf(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

/** A different CPF for each number, with its check digits. */
function cpfOf(number: number): string {
  const digits = String(100_000_000 + number)
  const digit = (text: string) => {
    const sum = [...text].reduce((all, each, i) => all + Number(each) * (text.length + 1 - i), 0)
    return sum % 11 < 2 ? '0' : String(11 - (sum % 11))
  }
  const first = digit(digits)
  return digits + first + digit(digits + first)
}

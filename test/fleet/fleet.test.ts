import { afterAll, expect, test } from 'vitest'
import { PostgresServer } from '../support/postgres-server.ts'
import { cutCommits } from './cut-commits.ts'
import type { FleetFindings } from './findings.ts'
import { killWriters } from './kill-writers.ts'

const server = await PostgresServer.start()
afterAll(() => server.stop())

const nothing = { lost: [], doubled: [], stuck: [], wrong: [] }

function expectSound(found: FleetFindings, counts: Record<string, number>): void {
  expect(found).toMatchObject(nothing)
  for (const [name, count] of Object.entries(counts)) expect(found.counts[name], name).toBeGreaterThanOrEqual(count)
}

test('whether a commit was recorded is known, wherever its connection is cut', async () => {
  expectSound(await cutCommits(server, 7, 40), { cuts: 40, recorded: 20, refused: 10 })
})

test('of processes that append to one log and are killed, nothing acknowledged is lost or doubled', async () => {
  expectSound(await killWriters(server, { seed: 11, kills: 4, stops: 0 }), { kills: 4, acknowledged: 120 })
})

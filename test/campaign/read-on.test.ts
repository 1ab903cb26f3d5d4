import { expect, test } from 'vitest'
import { useDatabase, withoutGuards } from '../support/use-database.ts'
import { openHost } from './open-host.ts'
import { LogReader } from './read-on.ts'
import type { Deed } from './step.ts'

test('a restored log is read from the backup on, and must be unchanged up to there', async () => {
  const { runRecord, simulated, performAll } = openHost()
  const recorded: number[] = []
  runRecord.addChecks(simulated, { recorder: () => ({ recorded: ({ position }) => void recorded.push(position) }) })
  const reader = new LogReader(simulated)
  const enrol = (person: number): Deed => ({ do: 'enrol', person, everyHours: 0 })

  await performAll(enrol(0), { do: 'backUp' }, enrol(1))
  reader.read()
  const before = recorded.length
  const end = simulated.backup?.position ?? 0
  expect(before).toBeGreaterThan(end)
  await performAll({ do: 'restore' })
  reader.read()
  expect(runRecord.failures).toEqual([])
  expect(recorded[before]).toBe(end + 1)
  expect(reader.events).toBe(recorded.length)

  await performAll({ do: 'restore' })
  await simulated.close()
  const change = `update event set header = replace(header, '"at":"2026', '"at":"2025') where position = 2`
  useDatabase(simulated.disk.path, database => withoutGuards(database, () => database.exec(change)))
  reader.read()
  const what = `up to ${end} a restored log differs from the original`
  expect(runRecord.failures).toEqual([{ check: 'same-beginning', what }])
})

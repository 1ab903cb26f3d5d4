import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { Book } from './book.ts'
import { Box } from './box.ts'
import { perform } from './perform.ts'
import { LogReader } from './read-on.ts'
import type { Deed } from './step.ts'

test('a restored log goes on from the backup, is told from there, and has to be what it was up to there', async () => {
  const book = new Book()
  const box = new Box(1, book)
  onTestFinished(() => box.dispose())
  const told: number[] = []
  book.attach(box, { told: () => ({ recorded: ({ position }) => void told.push(position) }) })
  const reader = new LogReader(box)
  const all = async (...deeds: Deed[]) => {
    for (const [id, deed] of deeds.entries()) await perform(box, { ...deed, id: told.length + id, at: 0 })
  }
  const enrol = (person: number): Deed => ({ do: 'enrol', person, everyHours: 0 })

  await all(enrol(0), { do: 'backUp' }, enrol(1))
  reader.read()
  const before = told.length
  const end = box.backup?.position ?? 0
  expect(before).toBeGreaterThan(end)
  await all({ do: 'restore' })
  reader.read()
  expect(book.wrongs).toEqual([])
  expect(told[before]).toBe(end + 1)
  expect(reader.events).toBe(told.length)

  await all({ do: 'restore' })
  await box.close()
  const database = new Sqlite(box.disk.path)
  database.exec(
    'drop trigger event_no_update; update event set header = replace(header, \'"at":"2026\', \'"at":"2025\') where position = 2',
  )
  database.close()
  reader.read()
  const what = `up to ${end} a restored log is not what it was`
  expect(book.wrongs).toEqual([{ check: 'same-beginning', what }])
})

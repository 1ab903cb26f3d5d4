import { beforeAll, expect, test } from 'vitest'
import { replayLog, valueOf, verifyLog } from '../../../src/index.ts'
import { subjectMachine } from '../../../src/machines/subject/subject.ts'
import { validationMachine } from '../../../src/machines/validation.ts'
import { replay } from '../../../src/operations/replay.ts'
import { leafHash } from '../../../src/store/log/tree.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import { refuses } from '../../support/refuses.ts'
import { copyStore, makeSampleStore } from '../../support/sample-store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { useDatabase, withoutGuards } from '../../support/use-database.ts'
import { openWorld } from '../../support/world.ts'

let sample = ''
beforeAll(async () => {
  sample = await makeSampleStore(20)
})

/** Copies the sample and changes the header and the leaf of one event, so that checks of single events find nothing. */
function forged(type: string, change: (event: RecordedEvent) => object): { store: string; position: number } {
  const store = copyStore(sample)
  return useDatabase(store, database => {
    const row = database.prepare('select position, header from event where type = ?').get(type)
    const { position, header } = row as { position: number; header: string } // As selected.
    const text = JSON.stringify(change(JSON.parse(header)))
    expect(text).not.toBe(header)
    const update = database.prepare('update event set header = ?, leaf = ? where position = ?')
    withoutGuards(database, () => update.run(text, leafHash(text), position))
    return { store, position }
  })
}

test('a replay gives every decision as recorded', async () => {
  const { events } = await verifyLog({ store: sample })
  const replayed = await replayLog({ store: sample })
  expect(replayed).toMatchObject({ otherVersions: 0, position: events })
  expect(replayed).not.toHaveProperty('divergence')
  expect(replayed.decisions).toBeGreaterThan(25)
})

test('a replay finds a forged decision: its data, its effects or its cause', async () => {
  const forgeries: [string, (event: RecordedEvent) => object][] = [
    ['validation.requested', event => ({ ...event, effects: [] })],
    ['validation.requested', event => ({ ...event, causedBy: 'validation.resolve' })],
    ['validation.answered', event => ({ ...event, anomaly: 'it had ended before' })],
    ['consent.appeared', event => ({ ...event, data: { ...(event.data as object), status: 'REVOGADO' } })],
    ['subject.synced', event => ({ ...event, input: { data: { read: 99, changed: 0, unreadable: 0 } } })],
  ]
  for (const [type, change] of forgeries) {
    const { store, position } = forged(type, change)
    const { divergence } = await replayLog({ store })
    expect(divergence, type).toMatchObject({ position, causedBy: expect.any(String) })
    expect(divergence?.recorded).not.toBe(divergence?.decided)
  }
})

test('a replay ends at the given position or instant', async () => {
  expect(await replayLog({ store: sample, until: 5 })).toMatchObject({ position: 5 })
  expect(await replayLog({ store: sample, until: '2026-11-01' })).toMatchObject({ position: 0, decisions: 0 })
  const { store, position } = forged('validation.requested', event => ({ ...event, effects: [] }))
  expect(await replayLog({ store, until: position - 1 })).not.toHaveProperty('divergence')
  await expect(replayLog({ store, until: 'yesterday' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

test('a replay that ends between two events of one decision leaves it out and finds no divergence', async () => {
  const store = temporaryStore()
  const world = await openWorld({ averba: { store } })
  const { consents, subjects } = world.averba
  const subject = await consents.enrol({ cpf: world.samples.cpf })
  valueOf(await consents.sync({ subject }))
  await subjects.erase({ subject }, { requester: 'p-1', legalBasis: 'LGPD 18 VI' })
  await world.close()
  const { events } = await verifyLog({ store })
  const parts: number[] = []
  for (let until = 1; until <= events; until++) {
    const { divergence, decisions } = await replayLog({ store, until })
    expect(divergence, `until ${until}`).toBeUndefined()
    if (decisions === (await replayLog({ store, until: until - 1 })).decisions) parts.push(until)
  }
  expect(parts).not.toEqual([]) // An erasure is one decision of two events.
})

test('decisions of one machine can be replayed against another version of it', async () => {
  const pages = async function* () {
    const headers = useDatabase(sample, database => database.column('select header from event order by position'))
    yield headers.map(header => JSON.parse(String(header)) as RecordedEvent) // As written.
  }
  const newer = { ...validationMachine, version: 2, decide: () => ({ refused: 'validations are over' }) }
  const machines = [newer, subjectMachine]
  const asRecorded = await replay(pages(), machines)
  expect(asRecorded.otherVersions).toBeGreaterThan(0)
  expect(asRecorded).not.toHaveProperty('divergence')
  const against = await replay(pages(), machines, { against: 'validation@2' })
  expect(against.divergence).toMatchObject({ decided: 'refused: validations are over' })
  const hint = expect.stringContaining('validation@2')
  await refuses('INVALID_INPUT', replay(pages(), machines, { against: 'validation@1' }), { hint })
})

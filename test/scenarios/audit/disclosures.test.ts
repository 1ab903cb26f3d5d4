import { expect, test } from 'vitest'
import { type Averba, type Events, type Recorded, valueOf } from '../../../src/index.ts'
import type { World, WorldOptions } from '../../../src/simulation/index.ts'
import { parseVerifierKey, type VerifierKey, verifyDisclosure } from '../../../src/verify.ts'
import { refuses } from '../../support/refuses.ts'
import { expectSound } from '../../support/sound-log.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const asking = { actor: { kind: 'person', ref: 'auditoria-3' }, purpose: 'auditoria 2026-17' } as const
const asked = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
const other = '11144477735'

/** A log with two validations of one person, which have record keys, and the person's enrolment, which has none. */
async function twoRecords(options: WorldOptions['averba'] = { recordKeys: ['validation'] }) {
  const store = temporaryStore()
  const world = await openWorld({ averba: { ...options, store } })
  const { averba, samples } = world
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const validate = (id: string, nome: string) => averba.validations.validate({ id, cpf: samples.cpf, claims: { nome } })
  valueOf(await validate('p1', 'ANA'))
  valueOf(await validate('p2', 'EVA'))
  const events = await eventsOf(averba, 'validation.requested')
  const [one = '', two = ''] = events.map(event => event.id)
  return { ...world, world, store, subject, one, two, events }
}

const eventsOf = ({ log }: Averba, ...types: (keyof Events)[]): Promise<Recorded[]> =>
  Array.fromAsync(log.read(types.length > 0 ? { types } : {}))

async function keyOf({ averba }: Pick<World, 'averba'>): Promise<VerifierKey[]> {
  const [began] = await eventsOf(averba)
  return [parseVerifierKey(began?.type === 'log.began' ? began.data.key : '')].filter(key => key !== undefined)
}

test('the disclosure of a record is recorded and can be read offline', async () => {
  const { averba, world, one, subject, events } = await twoRecords()
  const text = await averba.audit.disclose(one, asking)
  const verdict = await verifyDisclosure(text, await keyOf(world))
  expect(verdict).toMatchObject({ isProven: true, fault: '' })
  const { parts = [] } = JSON.parse(verdict.header)
  const names = parts.map(({ name }: { name: string }) => name)
  expect(verdict.opened.map(part => part.name).sort()).toEqual(names)
  expect(verdict.opened.find(part => part.name === 'claims')?.value).toMatchObject({ nome: 'ANA' })
  expect(verdict.closed).toEqual([])
  expect(await averba.audit.disclose(events[0]?.position ?? 0, asking)).toContain('averba disclosure 1')

  const [revealed] = await eventsOf(averba, 'reveal.recorded')
  const opened = { parts: names.map((name: string) => `${one}/${name}`), owners: [`subject-${subject}`] }
  const data = { ...opened, purpose: asking.purpose, isDisclosed: true }
  expect(revealed).toMatchObject({ actor: asking.actor, data })
  const report = JSON.parse(await averba.subjects.report({ subject }, { language: 'en' }))
  const words = 'Key that opens the sealed data of one record given to a third party'
  expect(JSON.stringify(report.timeline)).toContain(words)
})

test("a record's key opens no other record, and nothing from another record is accepted in its place", async () => {
  const { averba, world, one, two, samples } = await twoRecords()
  const keys = await keyOf(world)
  const [a, b] = [await averba.audit.disclose(one, asking), await averba.audit.disclose(two, asking)]
  const [first, second] = [JSON.parse(a), JSON.parse(b)]
  expect(a).not.toContain(samples.cpf)
  // One key for both would open the other record too, whatever its disclosure lists.
  expect(first.keys[0].key).not.toBe(second.keys[0].key)
  const flipped = (text: string) => `${text.startsWith('A') ? 'B' : 'A'}${text.slice(1)}`
  const [[{ owner, key }], [own]] = [first.keys, first.parts]
  const wrongs: [string, object, string][] = [
    ["another record's key", { ...first, keys: second.keys }, 'the key for'],
    ["another record's parts", { ...first, parts: second.parts }, 'is not the one'],
    ["another record's proof", { ...first, proof: second.proof }, 'is not the one'],
    ['a changed key', { ...first, keys: [{ owner, key: flipped(key) }] }, 'the key for'],
    ['no key', { ...first, keys: [] }, 'the key for'],
    ['a changed part', { ...first, parts: [{ ...own, sealed: flipped(own.sealed) }] }, 'is not the one'],
    ['a part twice', { ...first, parts: [own, own] }, 'is not the one'],
    ['a part under another name', { ...first, parts: [{ ...own, name: 'x' }] }, 'is not the one'],
    ['no part', { ...first, parts: [] }, 'no part'],
    ['a key that opens nothing', { ...first, keys: [...first.keys, { owner: 'subject-x', key }] }, 'for none'],
    ['a changed proof', { ...first, proof: first.proof.replace(/\nindex /, '\nindex 1') }, 'hashes'],
    ['another form', { ...first, format: 'averba disclosure 2' }, 'the form'],
    ['a key that is too short', { ...first, keys: [{ owner, key: 'AAAA' }] }, 'the form'],
    ['bytes that are none', { ...first, parts: [{ name: 'claims', sealed: 'AB=' }] }, 'the form'],
  ]
  for (const [what, disclosed, fault] of wrongs) {
    const verdict = await verifyDisclosure(JSON.stringify(disclosed), keys)
    expect(verdict, what).toMatchObject({ isProven: false, opened: [], closed: [] })
    expect(verdict.fault, what).toContain(fault)
  }
  const foreign = await keyOf(await openWorld())
  expect(await verifyDisclosure(a, foreign)).toMatchObject({ isProven: false, opened: [] })
})

test('parts with record keys are read, rotated, verified and replayed, also without the option', async () => {
  const { averba, world, store, one, samples, subject } = await twoRecords()
  const read = async (by = averba) => (await by.validations.get('p1'))?.fields.nome
  expect(await read()).toBeDefined()
  const row = await averba.views.selectFrom('validations').selectAll().executeTakeFirstOrThrow()
  expect(JSON.stringify(await averba.subjects.reveal(row, asking))).not.toBe(JSON.stringify(row))
  const before = JSON.parse(await averba.audit.disclose(one, asking)).keys
  // The erasure wraps the remaining keys by a new epoch; the record keys stay the same.
  await averba.consents.enrol({ cpf: other })
  await averba.subjects.erase({ cpf: other }, asked)
  expect(JSON.parse(await averba.audit.disclose(one, asking)).keys).toEqual(before)
  await world.close()
  await expectSound(store)

  const later = await openWorld({ averba: { store } })
  expect(await read(later.averba)).toBeDefined()
  expect(JSON.parse(await later.averba.audit.disclose(one, asking)).keys).toEqual(before)
  await later.averba.validations.validate({ id: 'p3', cpf: samples.cpf, claims: { nome: 'IDA' } })
  const newest = (await eventsOf(later.averba, 'validation.requested')).at(-1)
  const hint = expect.stringContaining('recordKeys')
  await refuses('INVALID_INPUT', later.averba.audit.disclose(newest?.id ?? '', asking), { hint })
  await later.averba.subjects.erase({ subject }, asked)
  await refuses('NOT_FOUND', later.averba.audit.disclose(one, asking))
})

test('a disclosure without actor, purpose, record or record key is refused and not recorded', async () => {
  const { averba, one, samples } = await twoRecords()
  const { disclose } = averba.audit
  const [enrolled] = await eventsOf(averba, 'subject.enrolled')
  await refuses('INVALID_INPUT', disclose(enrolled?.id ?? '', asking))
  await refuses('INVALID_INPUT', disclose(1, asking))
  await refuses('NOT_FOUND', disclose(99_999, asking))
  await refuses('INVALID_INPUT', disclose(one, { ...asking, purpose: ' ' }))
  await refuses('INVALID_INPUT', disclose(one, { ...asking, actor: undefined as never }))
  await refuses('PERSONAL_ID', disclose(one, { ...asking, purpose: `para ${samples.cpf}` }))
  expect(await eventsOf(averba, 'reveal.recorded')).toEqual([])
})

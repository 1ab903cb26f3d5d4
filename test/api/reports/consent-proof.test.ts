import { afterAll, expect, test } from 'vitest'
import { type ConsentReport, checkPageProof, type PageProof } from '../../../src/index.ts'
import { createVerifierKey, writeVerifierKey } from '../../../src/proof/note.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { countTurns } from '../../support/count-turns.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { createReportedWorld, golden } from '../../support/reported-world.ts'

const { subtle } = globalThis.crypto

const { world, which, subject, unawareAt } = await createReportedWorld()
const { audit } = world.averba
afterAll(() => world.close())

test('the same log gives the same file, byte for byte', async () => {
  const question = { consent: which, at: unawareAt }
  const first = await audit.prove(question)
  expect(await audit.prove(question)).toBe(first)
  // The hashes change with every header, such as the machine tables in the first one.
  const { proof, ...told } = JSON.parse(first) as ConsentReport
  const kept = { ...told, proof: { positions: proof.events.map(({ index }) => index + 1) } }
  await expect(`${JSON.stringify(kept, null, 2)}\n`).toMatchFileSnapshot(golden('consent.pt-BR.json'))
})

test('WebCrypto alone checks the proof and detects every change of it', async () => {
  const report = await audit.prove({ consent: which, at: unawareAt, knownAt: unawareAt })
  const { proof, log } = JSON.parse(report) as ConsentReport
  const check = await checkPageProof(proof, subtle)
  expect(check).toEqual({
    ...{ included: proof.events.length, faults: [], signature: 'right' },
    ...{ origin: log.origin, size: log.position },
  })
  expect(proof.events.length).toBeGreaterThan(8)
  const second = proof.events[1] as PageProof['events'][number] // There are more than eight.
  const withSecond = (changed: Partial<typeof second>): PageProof => ({
    ...proof,
    events: proof.events.with(1, { ...second, ...changed }),
  })
  const position = second.index + 1
  const path = [{ position, what: 'path' }]
  const flipped = second.path.map((hash, i) => (i === 1 ? `${hash.slice(0, -1)}${hash.endsWith('0') ? 1 : 0}` : hash))
  const { checkpoint } = proof
  const anotherSize = checkpoint.replace(`\n${log.position}\n`, `\n${log.position + 1}\n`)
  const unsigned = checkpoint.slice(0, checkpoint.indexOf('—'))
  for (const [what, changed, expected] of [
    ['a letter of the header', withSecond({ header: second.header.replace('ATIVO', 'ATIVA') }), { faults: path }],
    ['white space in the header', withSecond({ header: `${second.header} ` }), { faults: path }],
    ['a hash of the path', withSecond({ path: flipped }), { faults: path }],
    ['a path that is too short', withSecond({ path: second.path.slice(0, -1) }), { faults: path }],
    ['a path that is too long', withSecond({ path: [...second.path, ...second.path.slice(0, 1)] }), { faults: path }],
    ['swapped hashes', withSecond({ path: second.path.toReversed() }), { faults: path }],
    ['another index', withSecond({ index: second.index + 1 }), { faults: [{ position: position + 1, what: 'path' }] }],
    ['an index that is not there', withSecond({ index: 9_999 }), { faults: [{ position: 10_000, what: 'path' }] }],
    ['another size', { ...proof, checkpoint: anotherSize }, { signature: 'wrong' }],
    ['another name', { ...proof, checkpoint: checkpoint.replace('log_', 'lag_') }, { signature: 'wrong' }],
    ['another key', { ...proof, key: otherKey(proof.key) }, { signature: 'wrong' }],
    ['no signature', { ...proof, checkpoint: unsigned }, { signature: 'wrong' }],
    ['no checkpoint', { ...proof, checkpoint: 'averba' }, { faults: [{ position: 0, what: 'checkpoint' }] }],
  ] as const)
    expect(await checkPageProof(changed, subtle), what).toMatchObject(expected)
})

/** Another key under the same name, with a correct id. */
function otherKey(line: string): string {
  const name = line.slice(0, line.indexOf('+'))
  return writeVerifierKey(createVerifierKey(name, new Uint8Array(32).fill(7)))
}

test('proving a consent with many uses yields to other work', async () => {
  const { world, which } = await givenConsent('ATIVO')
  const { averba, clock } = world
  const basis = { purpose: 'p', legalBasis: 'l' }
  const uses = 250
  for (let i = 0; i < uses; i++) await averba.consents.use(which, { basis })
  await clock.advance(1)
  const question = { consent: which, at: toInstant(clock.now()) }
  const { result, turns } = await countTurns(() => averba.audit.prove(question))
  expect(JSON.parse(result).proof.events.length).toBeGreaterThan(uses)
  expect(turns).toBeGreaterThan(uses / 50)
})

test('an unknown consent and a time in a wrong form are refused', async () => {
  const consent = { subject, id: 'nobody' }
  await expect(audit.prove({ consent, at: unawareAt })).rejects.toMatchObject({ code: 'NOT_FOUND' })
  await expect(audit.prove({ consent, at: 'today' })).rejects.toMatchObject({ code: 'INVALID_INPUT' })
})

import { expect, test } from 'vitest'
import { leafHashHex, nodeHashHex } from '../../src/proof/compact-tree.ts'
import { fromHex, toBase64 } from '../../src/proof/encoding.ts'
import { createVerifierKey, signNote } from '../../src/proof/note.ts'
import { verifyTlogProof, writeTlogProof } from '../../src/proof/tlog-proof.ts'
import { newSigner } from './new-signer.ts'

const [signer, other] = [newSigner(), newSigner()]
const keys = [createVerifierKey('log', signer.publicKey)]
const witnesses = [createVerifierKey('witness', other.publicKey)]
const sibling = leafHashHex('{"position":1}')

/** Verifies a proof of the second of two events, which the options can falsify. */
function verifyForged({ header = '{"position":2}', path = [sibling], origin = 'log', by = signer, name = 'log' } = {}) {
  const root = toBase64(fromHex(nodeHashHex(sibling, leafHashHex(header))))
  const note = signNote(`${origin}\n2\n${root}\n`, name, by)
  return verifyTlogProof(writeTlogProof(header, 1, path, note), keys, { witnesses })
}

test('an event is proven by its path to a checkpoint that the log signed', async () => {
  expect(await verifyForged()).toEqual({ isProven: true, fault: '', signedBy: ['log'] })
})

test.each([
  ['that only a witness signed', { by: other, name: 'witness' }, 'not signed with the key of the log'],
  ['that another key signed under the name of the log', { by: other }, 'not signed with the key of the log'],
  ['of another log', { origin: 'other' }, 'of another log'],
  ['of an event with another position', { header: '{"position":1}' }, 'another position'],
  ['with another path', { path: [leafHashHex('{}')] }, 'do not lead from the event'],
])('a proof %s is rejected', async (_, change, fault) => {
  const verdict = await verifyForged(change)
  expect(verdict).toMatchObject({ isProven: false, signedBy: [] })
  expect(verdict.fault).toContain(fault)
})

import { createSecretKey, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { writeDisclosure } from '../../src/proof/disclosure.ts'
import { sha256, toBase64 } from '../../src/proof/encoding.ts'
import { createVerifierKey, signNote } from '../../src/proof/note.ts'
import { writeTlogProof } from '../../src/proof/tlog-proof.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { leafHash } from '../../src/store/log/tree.ts'
import { encrypt } from '../../src/vault/cryptography.ts'
import { createKeyring } from '../../src/vault/keyring.ts'
import { deriveRecordKey } from '../../src/vault/vault.ts'
import { verifyDisclosure } from '../../src/verify.ts'

const [origin, owner, record] = ['log.exemplo.br', 'subject-a', 'validation-a/2']

const newKey = (owner: string, record: string) => deriveRecordKey(createSecretKey(randomBytes(32)), owner, record)

/** Verifies the disclosure of a signed log of one event, whose content the options can falsify. */
function verifyForged({
  place = `${record}/result`,
  key = newKey(owner, record),
  recordKey = key.commitment as string | null,
  plain = '{"nome":true}',
} = {}) {
  const { signer } = createKeyring(systemEntropy)
  const sealed = encrypt(createSecretKey(key.key), Buffer.from(plain), place, systemEntropy)
  const mark = {
    ...{ bytes: sealed.length, hash: sha256(sealed), name: 'result', owner },
    ...(recordKey !== null && { recordKey }),
  }
  const header = JSON.stringify({
    ...{ at: '2026-11-20T12:00:00.000Z', causedBy: 'validation.answer', machine: { name: 'validation', version: 1 } },
    parts: [mark, { ...mark, name: 'problem' }],
    ...{ position: 1, stream: 'validation-a', type: 'validation.answered', version: 2 },
  })
  const note = signNote(`${origin}\n1\n${toBase64(leafHash(header))}\n`, origin, signer)
  const opening = { keys: [{ owner, key: key.key }], parts: [{ name: 'result', sealed }] }
  const text = writeDisclosure({ proof: writeTlogProof(header, 0, [], note), ...opening })
  return verifyDisclosure(text, [createVerifierKey(origin, signer.publicKey)])
}

test('a disclosure opens the part that its record key sealed', async () => {
  const verdict = await verifyForged()
  expect(verdict).toMatchObject({ isProven: true, fault: '', signedBy: [origin], closed: ['problem'] })
  expect(verdict.opened).toEqual([{ name: 'result', owner, value: { nome: true } }])
})

test.each([
  ['a part that was sealed for another event', { place: 'validation-a/3/result' }, 'does not open'],
  ['a key that opens the part, but is not the one that the event names', { recordKey: '0'.repeat(64) }, 'the key for'],
  ['a part that the event did not seal under a record key', { recordKey: null }, 'the key for'],
  ['a key of the same owner for another record', { key: newKey(owner, 'validation-a/3') }, 'the key for'],
  ['a key of the same record for another owner', { key: newKey('subject-b', record) }, 'the key for'],
  ['a part that is not JSON', { plain: '{' }, 'does not open'],
])('%s is rejected, even if the owner of the log signed it', async (_, change, fault) => {
  const verdict = await verifyForged(change)
  expect(verdict).toMatchObject({ isProven: false, opened: [], closed: [], signedBy: [] })
  expect(verdict.fault).toContain(fault)
})

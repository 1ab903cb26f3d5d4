import { expect, test } from 'vitest'
import { createVerifierKey, parseCheckpoint } from '../../../src/proof/note.ts'
import { discloseEvent } from '../../../src/store/checkpoints/prove.ts'
import { verifyDisclosure } from '../../../src/verify.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

test('a record of several owners is disclosed with a key per owner, for the parts of that owner', async () => {
  const store = await openStore({ recordKeys: ['bench'] })
  const parts = {
    child: { owner: 'subject-a', value: 'ANA' },
    mother: { owner: 'subject-b', value: 'EVA' },
    school: { owner: 'subject-a', value: 'IDA' },
  }
  await store.append(appendOf('notification-a', 'none', [{ parts }]))
  const { note } = await store.checkpoint()
  const text = await store.database.read(() => discloseEvent(store.vault, store.headers, 'notification-a/1'))
  const key = createVerifierKey(parseCheckpoint(note)?.origin ?? '', store.vault.keyring.signer.publicKey)
  const all = [
    { name: 'child', owner: 'subject-a', value: 'ANA' },
    { name: 'mother', owner: 'subject-b', value: 'EVA' },
    { name: 'school', owner: 'subject-a', value: 'IDA' },
  ]
  expect(await verifyDisclosure(text, [key])).toMatchObject({ isProven: true, opened: all })
  const disclosed = JSON.parse(text)
  const [a, b] = disclosed.keys
  expect(disclosed.keys).toHaveLength(2)
  const swapped = [
    { ...a, key: b.key },
    { ...b, key: a.key },
  ]
  const verify = (changes: object) => verifyDisclosure(JSON.stringify({ ...disclosed, ...changes }), [key])
  expect(await verify({ keys: swapped })).toMatchObject({ isProven: false, opened: [] })
  // To disclose the parts of one owner only, give away that owner's key and parts.
  const [, mother] = disclosed.parts
  const less = await verify({ keys: [b], parts: [mother] })
  expect(less).toMatchObject({ isProven: true, opened: [{ name: 'mother' }], closed: ['child', 'school'] })
})

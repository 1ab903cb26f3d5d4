import { expect, test } from 'vitest'
import { checkPageProof } from '../../src/proof/check-page.ts'
import { inclusionRanges } from '../../src/proof/compact-tree.ts'
import { createVerifierKey, signCheckpoint, writeVerifierKey } from '../../src/proof/note.ts'
import { leafHash } from '../../src/store/log/tree.ts'
import { newSigner } from './new-signer.ts'
import { rootsOver } from './roots-over.ts'

const { subtle } = globalThis.crypto
const [origin, header] = ['log_of_one', '{"position":1}']

const ours = newSigner()

/** The proof of every event of a log. */
function proofOf(headers: readonly string[], signer = ours) {
  const size = headers.length
  const rootOf = rootsOver(headers.map(each => leafHash(each).toString('hex')))
  const checkpoint = signCheckpoint({ origin, size, root: rootOf(0, size) }, signer)
  const key = writeVerifierKey(createVerifierKey(origin, signer.publicKey))
  const pathOf = (index: number) => inclusionRanges(index, size).map(([from, to]) => rootOf(from, to))
  return { key, checkpoint, events: headers.map((header, index) => ({ header, index, path: pathOf(index) })) }
}

test('every event of a log of any size leads to its root', async () => {
  for (let size = 1; size <= 40; size++) {
    const headers = Array.from({ length: size }, (_, i) => `{"position":${i + 1}}`)
    const check = await checkPageProof(proofOf(headers), subtle)
    expect(check).toEqual({ included: size, faults: [], signature: 'right', origin, size })
  }
})

test('an event with another position, or that is not JSON, is a fault even if its hash is right', async () => {
  for (const header of ['{"position":5}', '{}', 'null', 'averba']) {
    const check = await checkPageProof(proofOf([header]), subtle)
    expect(check).toMatchObject({ included: 0, faults: [{ position: 1, what: 'position' }], signature: 'right' })
  }
})

test('a signature is rejected when its key has the id of another key', async () => {
  const [own, other] = [proofOf([header]), proofOf([header], newSigner())]
  const [name, id] = own.key.split('+')
  const key = `${name}+${id}+${other.key.slice(other.key.indexOf('+', name?.length ?? 0) + 10)}`
  // A signature starts with the id of its key: here the signature of the other key has the id of the own key.
  const bytes = Buffer.from(other.checkpoint.trim().split(' ').at(-1) ?? '', 'base64')
  bytes.set(Buffer.from(id ?? '', 'hex'))
  const text = other.checkpoint.slice(0, other.checkpoint.lastIndexOf(' ') + 1)
  const checkpoint = `${text}${bytes.toString('base64')}\n`
  expect(await checkPageProof({ ...other, key, checkpoint }, subtle)).toMatchObject({ signature: 'wrong' })
  expect(await checkPageProof(other, subtle)).toMatchObject({ signature: 'right' })
})

test("a checkpoint signed under a name that is not its key's is rejected", async () => {
  const proof = proofOf([header])
  const renamed = { ...proof, checkpoint: proof.checkpoint.replace(`— ${origin}`, '— log_of_two') }
  expect(await checkPageProof(renamed, subtle)).toMatchObject({ signature: 'wrong' })
})

import { describe, expect, test } from 'vitest'
import { emptyRoot } from '../../src/proof/compact-tree.ts'
import { toBase64 } from '../../src/proof/encoding.ts'
import {
  createVerifierKey,
  parseCheckpoint,
  parseNote,
  parseVerifierKey,
  signCheckpoint,
  signNote,
  verifyNote,
  writeVerifierKey,
} from '../../src/proof/note.ts'
import { keysByName } from '../../src/proof/verify-checkpoints.ts'
import { newSigner } from './new-signer.ts'

const parsed = (note: string) => parseNote(note) ?? { text: '', signatures: [] }
const signer = newSigner()
const key = createVerifierKey('log', signer.publicKey)
const note = signNote('log\n3\nAAA\n', 'log', signer)

test('the note published with the reference implementation in Go verifies', async () => {
  const published = parseVerifierKey('PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW') ?? key
  const text = [
    'If you think cryptography is the answer to your problem,',
    "then you don't know what your problem is.",
    '',
    '— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=',
    '',
  ].join('\n')
  expect(published.name).toBe('PeterNeumann')
  expect(await verifyNote(parsed(text), [published])).toEqual([published])
  expect(await verifyNote(parsed(text.replace('answer', 'Answer')), [published])).toBeUndefined()
})

describe('a key line', () => {
  test('parses back to the same key', () => {
    expect(parseVerifierKey(writeVerifierKey(key))).toEqual(key)
  })

  test.each([
    ['of another id', writeVerifierKey(key).replace(key.id, '00000000')],
    ['of another algorithm', `log+${key.id}+${toBase64(Uint8Array.from([2, ...signer.publicKey]))}`],
    ['that is too short', `log+${key.id}+${toBase64(Uint8Array.from([1, 2, 3]))}`],
    ['with a long name', writeVerifierKey(createVerifierKey('l'.repeat(201), signer.publicKey))],
    ['with a space in its name', writeVerifierKey(key).replace('log', 'l og')],
    ['that is not a key line', 'log'],
  ])('%s is refused', (_, line) => {
    expect(parseVerifierKey(line)).toBeUndefined()
  })
})

describe('a note', () => {
  test('returns the keys that signed it, and ignores unknown keys', async () => {
    const other = newSigner()
    const both = note + (signNote('log\n3\nAAA\n', 'witness', other).split('\n\n')[1] ?? '')
    const witness = createVerifierKey('witness', other.publicKey)
    expect(await verifyNote(parsed(both), [key])).toEqual([key])
    expect(await verifyNote(parsed(both), [key, witness])).toEqual([key, witness])
    expect(await verifyNote(parsed(both), [])).toEqual([])
    // After a change of keys a log has two of one name.
    const former = createVerifierKey('log', other.publicKey)
    expect(await verifyNote(parsed(both), [former, key])).toEqual([key])
  })

  test('is rejected as a whole when the signature of a known key is wrong', async () => {
    expect(await verifyNote(parsed(note.replace('3', '4')), [key])).toBeUndefined()
    const { text, signatures } = parsed(note)
    const flipped = signatures[0]?.signature.map(byte => byte ^ 1) ?? new Uint8Array()
    for (const signature of [flipped, new Uint8Array(1)])
      expect(await verifyNote({ text, signatures: [{ name: 'log', id: key.id, signature }] }, [key])).toBeUndefined()
  })

  test('with the cosignature of a witness is verified over its time as well', async () => {
    const witness = newSigner()
    const of = createVerifierKey('w', witness.publicKey, 4)
    const { text } = parsed(note)
    const cosign = (seconds: number, said: number) => {
      const time = Buffer.alloc(8)
      time.writeBigUInt64BE(BigInt(said))
      const made = witness.sign(Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`))
      return { text, signatures: [{ name: 'w', id: of.id, signature: Uint8Array.from([...time, ...made]) }] }
    }
    expect(await verifyNote(cosign(1_700_000_000, 1_700_000_000), [of])).toEqual([of])
    expect(await verifyNote(cosign(1_700_000_000, 1_700_000_001), [of])).toBeUndefined()
  })

  test.each([
    ['without a signature', 'log\n3\nAAA\n'],
    ['without a last newline', note.slice(0, -1)],
    ['with a control character', note.replace('3', '\t3')],
    ['with a carriage return', note.replace('\n', '\r\n')],
    ['with a line that is not a signature', `${note}x\n`],
    ['with a hyphen in place of the dash', note.replace('—', '-')],
    ['with base64 that is not padded', note.replace(/=+\n$/, '\n')],
    ['with half a character', `\ud800${note}`],
    ['that is too long', `${'x'.repeat(1_000_000)}\n\n${note}`],
  ])('%s is refused', (_, text) => {
    expect(parseNote(text)).toBeUndefined()
  })
})

test('the ids of keys are derived once for each name of a log, and for at most a thousand names', () => {
  const under = keysByName([createVerifierKey('former', signer.publicKey)])
  expect(under('log')).toEqual([key])
  expect(under('log')).toBe(under('log'))
  for (let i = 1; i < 1_000; i++) expect(under(`log${i}`)).toHaveLength(1)
  expect(under('log')).toEqual([])
})

test('a checkpoint parses back to the signed one, and other forms are rejected', async () => {
  const signed = signCheckpoint({ origin: 'log', size: 0, root: emptyRoot }, signer)
  const checkpoint = parseCheckpoint(signed)
  expect(checkpoint).toMatchObject({ origin: 'log', size: 0, root: emptyRoot })
  expect(signed.split('\n').slice(0, 3)).toEqual(['log', '0', '47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='])
  expect(checkpoint && (await verifyNote(checkpoint.note, [key]))).toEqual([key])
  const sizes = ['00', '-1', '1.0', '1e3', '', '9007199254740993', ' 1']
  const root = toBase64(new Uint8Array(32))
  const wrong = [...sizes.map(size => `log\n${size}\n${root}\n`), `\n1\n${root}\n`, `${'l'.repeat(201)}\n1\n${root}\n`]
  expect(parseCheckpoint(signNote(`${'l'.repeat(200)}\n1\n${root}\n`, 'log', signer))).toBeDefined()
  for (const text of [...wrong, `log\n1\n${toBase64(new Uint8Array(31))}\n`, 'log\n1\n'])
    expect(parseCheckpoint(signNote(text, 'log', signer))).toBeUndefined()
})

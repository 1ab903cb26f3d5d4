import { expect, test } from 'vitest'
import { leafHashHex } from '../../src/proof/compact-tree.ts'
import { LogVerifier } from '../../src/proof/log-verifier.ts'
import { createVerifierKey, writeVerifierKey } from '../../src/proof/note.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { createKeyring } from '../../src/vault/keyring.ts'

const { publicKey } = createKeyring(systemEntropy).signer
const named = (origin: string) => ({ origin, key: writeVerifierKey(createVerifierKey(origin, publicKey)) })

/** Returns the faults of a check in a log that continues after a restore under another name. */
function faultsOf(change: object, wanted = 'origin', began: object = {}): readonly string[] {
  const textOf = (type: string, version: number, data: object, others = {}) =>
    JSON.stringify({
      ...{ position: version, stream: 'log-main', version, type, at: '2026-11-20T12:00:00.000Z' },
      ...{ causedBy: 'log.begin', machine: { name: 'log', version: 1 }, data, ...others },
    })
  const first = textOf('log.began', 1, named('former'), began)
  const second = { before: 'former', size: 1, root: leafHashHex(first), ...named('present'), ...change }
  const verifier = new LogVerifier([], [])
  verifier.add(first, [])
  verifier.add(textOf('log.resumed', 2, second), [])
  return verifier.faults.list().flatMap(({ check, examples }) => (check === wanted ? examples : []))
}

test('a log continues after a restore by naming what it continues', () => {
  expect(faultsOf({})).toEqual([])
})

test('an event of another format is a fault of the headers', () => {
  expect(faultsOf({}, 'headers', { format: 2 })).toEqual([expect.stringContaining('at 1 has another format')])
})

test.each([
  ['another log', { before: 'other' }, 'continues another log'],
  ['another length', { size: 2 }, 'continues another log'],
  ['other events', { root: leafHashHex('{}') }, 'continues another log'],
  ['no key of its name', { origin: 'other' }, 'does not name its key'],
  ['another key', { key: writeVerifierKey(createVerifierKey('present', new Uint8Array(32))) }, 'under another key'],
])('a log that continues with %s has a fault in its origin', (_, change, fault) => {
  expect(faultsOf(change)).toEqual([expect.stringContaining(fault)])
})

import { expect, test } from 'vitest'
import { LogVerifier } from '../../src/proof/log-verifier.ts'

/** JSON whose conversion to text or to a number throws. */
const odd = { toString: 1, valueOf: 1 }

const began = {
  ...{ position: 1, stream: 'log-main', version: 1, type: 'log.began', at: '', causedBy: 'log.begin' },
  ...{ machine: { name: 'log', version: 1 }, data: {} },
}
const table = { name: 'x', version: 1, start: ['a'], moves: {}, makes: { 'x.do': [{ event: 'x.done' }] }, effects: {} }
const addTable = (moves: unknown) => ({ ...began, data: { machines: [{ ...table, moves }] } })
const done = { ...began, stream: 'x-1', type: 'x.done', causedBy: 'x.do', machine: { name: 'x', version: 1 } }

test.each<[what: string, check: string, ...events: object[]]>([
  ['key', 'origin', { ...began, data: { key: odd } }],
  ['name', 'origin', { ...began, data: { origin: odd } }],
  ['position', 'headers', { ...began, position: odd, type: 'subject.erased' }],
  ['version', 'headers', { ...began, version: odd }],
  ['name of a part', 'headers', { ...began, parts: [{ name: odd, owner: '', hash: '', bytes: 1 }] }],
  ['type of an effect', 'headers', { ...began, effects: [{ type: odd }] }],
  ['target of a transition', 'legality', addTable({ a: { 'x.done': [{ to: 5 }] } }), done, done],
  ['condition of a transition', 'legality', addTable({ a: { 'x.done': [{ if: 5 }] } })],
])('a log whose %s has a wrong type has a fault in its %s, and can be verified', (_, check, ...events) => {
  const verifier = new LogVerifier([], [])
  for (const event of events) verifier.add(JSON.stringify(event), [])
  verifier.finish()
  expect(verifier.faults.list().map(fault => fault.check)).toContain(check)
})

import type { ReadFilter } from '../../../src/store/log/read.ts'
import type { Store } from '../../../src/store/store.ts'
import type { Append, IndexEntry } from '../../../src/store/writing/append.ts'
import { appendOf, at } from '../append-of.ts'
import { alsoExpecting, digest, type Harness, type Place, positionsOf, receiptOf, toStream } from './place.ts'

/** Tests the appends, receipts, parts, shared secrets and pages of a store. */
export function appendConformance({ test, expect }: Harness, newPlace: () => Place): void {
  const onStore = (name: string, work: (store: Store) => Promise<void>) =>
    test(name, async () => work(await newPlace().open()))
  const statusOf = async (store: Store, append: Append) => (await store.append(append)).status

  onStore('positions are ordered without gaps, and versions count per stream', async store => {
    expect(positionsOf(await store.append(toStream('token-a', 'none', 2)))).toEqual([2, 3])
    expect(positionsOf(await store.append(toStream('token-b', 'any')))).toEqual([4])
    expect(positionsOf(await store.append(toStream('token-a', 2)))).toEqual([5])
    const events = await store.read({ stream: 'token-a' })
    expect(events.map(({ version, position }) => `${version} at ${position}`)).toEqual(['1 at 2', '2 at 3', '3 at 5'])
  })

  onStore('a shared secret is the newest generation of its name until it is dropped', async ({ secrets }) => {
    expect(await secrets.find('token-a')).toBeUndefined()
    await secrets.keep('token-a', { generation: 2, value: 'second' })
    await secrets.keep('token-a', { generation: 1, value: 'a late first' })
    await secrets.keep('token-b', { generation: 1, value: 'other' })
    expect(await secrets.find('token-a')).toEqual({ generation: 2, value: 'second' })
    await secrets.keep('token-a', { generation: 3, value: 'ça' })
    expect(await secrets.find('token-a')).toEqual({ generation: 3, value: 'ça' })
    await secrets.drop('token-a', 3)
    expect((await secrets.find('token-a'))?.generation).toBe(3) // `drop` deletes only older generations.
    await secrets.drop('token-a', 4)
    expect(await secrets.find('token-a')).toBeUndefined()
    expect(await secrets.find('token-b')).toEqual({ generation: 1, value: 'other' })
  })

  onStore('concurrent changes of a shared secret are all kept', async ({ secrets }) => {
    await secrets.keep('token-a', { generation: 2, value: 'a' })
    for (const [name, first] of [['token-a', 'a'], ['token-b']] as const) {
      const seen: (string | undefined)[] = []
      const changed = await secrets.change(name, async before => {
        seen.push(before)
        if (seen.length === 1) await secrets.change(name, async between => `${between}, faster`)
        return `${before}, slower`
      })
      expect(seen).toEqual([first, `${first}, faster`])
      expect(changed).toBe(`${first}, faster, slower`)
      expect(await secrets.change(name, async () => undefined)).toBe(changed)
      expect((await secrets.find(name))?.value).toBe(changed)
    }
  })

  onStore('every expectation is enforced, for existing and missing streams', async store => {
    const cases = [
      ['none', 0, 'appended'],
      ['none', 1, 'conflict'],
      ['exists', 0, 'conflict'],
      ['exists', 1, 'appended'],
      ['any', 0, 'appended'],
      ['any', 1, 'appended'],
      [0, 0, 'appended'],
      [1, 1, 'appended'],
      [0, 1, 'conflict'],
      [1, 0, 'conflict'],
      [2, 1, 'conflict'],
    ] as const
    for (const [i, [expected, events, status]] of cases.entries()) {
      const stream = `token-${i}`
      if (events > 0) await store.append(toStream(stream, 'none', events))
      expect(await statusOf(store, toStream(stream, expected)), `${expected} of ${events}`).toBe(status)
      expect(await store.read({ stream })).toHaveLength(events + (status === 'appended' ? 1 : 0))
    }
  })

  onStore('a conflict on one stream writes nothing to the others and uses no position', async store => {
    const conflicting = alsoExpecting(toStream('token-a', 'none'), 'token-b', 'exists')
    expect(await statusOf(store, conflicting)).toBe('conflict')
    expect(await store.read({ stream: 'token-a' })).toEqual([])
    expect(positionsOf(await store.append(toStream('token-c', 'none')))).toEqual([2])
  })

  onStore('the expectation of a stream that is not written is enforced too', async store => {
    await store.append(toStream('token-b', 'none', 2))
    const expecting = (expected: 'none' | 'exists' | number) =>
      statusOf(store, alsoExpecting(toStream('token-a', 'any'), 'token-b', expected))
    for (const wrong of ['none', 1, 3] as const) expect(await expecting(wrong)).toBe('conflict')
    for (const right of ['exists', 2] as const) expect(await expecting(right)).toBe('appended')
    expect(await store.read({ stream: 'token-a' })).toHaveLength(2)
    expect(await store.read({ stream: 'token-b' })).toHaveLength(2)
  })

  onStore('concurrent callers share commits, and a conflict or an error reaches only its own caller', async store => {
    const { count } = store.changes
    const expected = Array.from({ length: 60 }, (_, i) => ({ 3: 'conflict', 7: 'error' })[i % 10] ?? 'appended')
    const callers = expected.map((status, i) =>
      store.append({
        ...toStream(`token-${i}`, status === 'conflict' ? 'exists' : 0),
        ...(status === 'error' && { streams: [] }),
      }),
    )
    const ended = await Promise.allSettled(callers)
    expect(ended.map(each => (each.status === 'rejected' ? 'error' : each.value.status))).toEqual(expected)
    const positions = ended.flatMap(each => (each.status === 'fulfilled' ? positionsOf(each.value) : []))
    expect(positions).toEqual(Array.from({ length: 48 }, (_, i) => i + 2))
    expect(store.changes.count - count).toBeLessThan(10)
  })

  onStore('a command id runs once, in one commit or later, and a refusal is stored without an event', async store => {
    const send = () => store.append({ ...toStream('token-a', 'any'), receipt: receiptOf('c1') })
    const [first, ...again] = [...(await Promise.all([send(), send()])), await send()]
    expect(first).toMatchObject({ status: 'appended', position: 2 })
    for (const each of again) expect(each).toMatchObject({ status: 'known', receipt: { commandId: 'c1', position: 2 } })
    const refuse = (commandId: string, version: number) => {
      const receipt = receiptOf(commandId, 'refused', 'it is closed')
      return statusOf(store, appendOf('token-a', version, [], { receipt }))
    }
    expect(await refuse('c2', 1)).toBe('appended')
    expect(await store.receipt('c2')).toMatchObject({ code: 'refused', detail: 'it is closed', position: 2 })
    // A refusal depends on the stream's version too: with an outdated one it is not stored.
    expect(await refuse('c3', 0)).toBe('conflict')
    expect(await store.receipt('c3')).toBeUndefined()
    expect(await store.read({})).toHaveLength(2)
  })

  onStore('of racing creations exactly one wins', async store => {
    const racers = Array.from({ length: 20 }, () => statusOf(store, toStream('token-a', 'none')))
    expect((await Promise.all(racers)).filter(status => status === 'appended')).toHaveLength(1)
    expect(await store.read({ stream: 'token-a' })).toHaveLength(1)
  })

  onStore('the times of the log never go back', async store => {
    await store.append({ ...toStream('token-a', 'none'), at: '2031-01-02T00:00:00.000Z' })
    await store.append({ ...toStream('token-a', 1), at: '2031-01-01T00:00:00.000Z' })
    const [, second] = await store.read({ stream: 'token-a' })
    expect(second?.at).toBe('2031-01-02T00:00:00.000Z')
  })

  onStore('an index entry whose digest is already indexed conflicts', async store => {
    const indexEntry = { kind: 'cpf', digest, value: 'a' }
    const index = (stream: string, entry: IndexEntry) =>
      statusOf(store, { ...toStream(stream, 'none'), indexEntries: [entry] })
    expect(await index('token-a', indexEntry)).toBe('appended')
    expect(await index('token-b', indexEntry)).toBe('conflict')
    expect(await index('token-b', { ...indexEntry, value: 'b', replaces: 'a' })).toBe('appended')
  })

  onStore('a recent digest makes an equal one conflict for a while, and no other', async store => {
    const at = (time: string) => `2031-01-01T${time}.000Z`
    const within = (since: string, of = digest) => {
      const ms = Date.parse(at(since))
      return { digest: of, since: ms, until: ms + 1_200_000 }
    }
    const record = (stream: string, time: string, since: string, of = digest) =>
      statusOf(store, { ...toStream(stream, 'none'), at: at(time), recent: within(since, of) })
    const both = [record('token-a', '12:00:00', '11:50:00'), record('token-b', '12:00:00', '11:50:00')]
    expect(await Promise.all(both)).toEqual(['appended', 'conflict'])
    expect(await store.findRecent(within('12:00:00'))).toBe(2)
    expect(await store.findRecent(within('12:00:01'))).toBeUndefined()
    expect(await record('token-c', '12:01:00', '11:51:00', new Uint8Array([1]))).toBe('appended')
    expect(await record('token-d', '12:10:00', '12:00:00')).toBe('conflict')
    expect(await record('token-d', '12:10:01', '12:00:01')).toBe('appended')
    expect(await store.findRecent(within('12:00:01'))).toBe(4)
  })

  onStore('the age of a recent digest follows the clock, even after it went back, and not the log', async store => {
    const record = (stream: string, minute: number) => {
      const ms = Date.UTC(2031, 0, 1, 12) + minute * 60_000
      const recent = { digest, since: ms - 600_000, until: ms + 600_000 }
      return statusOf(store, { ...toStream(stream, 'none'), at: new Date(ms).toISOString(), recent })
    }
    expect(await record('token-a', 1_440)).toBe('appended')
    expect(await record('token-b', 0)).toBe('appended')
    expect(await record('token-c', 10)).toBe('conflict')
    expect(await record('token-c', 11)).toBe('appended')
  })

  onStore('a part is stored only sealed, and opens at its address', async store => {
    const parts = { cpf: { owner: 'subject-a', value: '25774435016' } }
    await store.append(appendOf('subject-a', 'none', [{ parts }]))
    const [enrolled] = await store.read({ stream: 'subject-a' })
    expect(JSON.stringify(enrolled)).not.toContain('25774435016')
    const hash = expect.stringMatching(/^[0-9a-f]{64}$/)
    expect(enrolled?.parts).toMatchObject([{ name: 'cpf', owner: 'subject-a', hash }])
    expect(await store.open('subject-a/1/cpf')).toBe('25774435016')
    expect(await store.open('subject-a/2/cpf')).toBeUndefined()
  })

  onStore('an erasure destroys the parts, the key, and the digests that lead to them', async store => {
    const owner = 'subject-one'
    const indexEntries = [{ kind: 'cpf', digest, value: 'one' }]
    const parts = { cpf: { owner, value: '25774435016' }, name: { owner, value: 'x' } }
    const recent = { digest, since: Date.parse(at), until: Date.parse(at) }
    await store.append(appendOf(owner, 'none', [{ parts }], { indexEntries, recent, receipt: receiptOf('c1') }))
    await store.append(appendOf(owner, 'any', [], { receipt: receiptOf('c2') }))
    const found = { commands: ['c1'], streams: [owner], indexEntries, kept: [] }
    const destroys = {
      parts: ['cpf', 'name'].map(name => ({ position: 2, name })),
      person: { ...found, owner, subject: 'one', until: 2, keepsKey: false },
    }
    expect(await statusOf(store, appendOf(owner, 1, [{ type: 'subject.erased' }], { destroys }))).toBe('appended')
    expect(await store.open(`${owner}/1/cpf`)).toBeUndefined()
    expect(await store.owners.stateOf(owner)).toBe('erased')
    expect(await store.findRecent(recent)).toBeUndefined()
    for (const id of ['c1', 'c2']) expect((await store.receipt(id))?.digest).toHaveLength(0)
    // The digests of the person were deleted, so they can be indexed again.
    expect(await statusOf(store, { ...toStream('token-a', 'none'), indexEntries, recent })).toBe('appended')
  })

  onStore('pages are read forward and backward, by type and after a position', async store => {
    await store.append(toStream('token-a', 'none', 5))
    const positions = async (filter: ReadFilter) => (await store.read(filter)).map(({ position }) => position)
    expect(await positions({ after: 3, limit: 2 })).toEqual([4, 5])
    expect(await positions({ backward: true, limit: 2 })).toEqual([6, 5])
    expect(await positions({ backward: true, after: 3 })).toEqual([2, 1])
    expect(await positions({ types: ['log.began'] })).toEqual([1])
    expect(await positions({ types: ['no.such'] })).toEqual([])
    expect(await positions({ exceptTypes: ['log.began', 'no.such'], limit: 2 })).toEqual([2, 3])
    expect(await positions({ kind: 'token', after: 4 })).toEqual([5, 6])
    expect(await positions({ kind: 'log' })).toEqual([1])
    expect(await positions({ kind: 'toke' })).toEqual([])
  })

  onStore('a stream is read from a version, also with events of other streams in between', async store => {
    for (let i = 0; i < 4; i++) for (const stream of ['token-a', 'token-b']) await store.append(toStream(stream, i))
    const versions = async (filter: ReadFilter) =>
      (await store.read({ stream: 'token-b', ...filter })).map(({ version, position }) => `${version} at ${position}`)
    expect(await versions({ fromVersion: 3 })).toEqual(['3 at 7', '4 at 9'])
    expect(await versions({ fromVersion: 2, backward: true })).toEqual(['2 at 5', '1 at 3'])
    expect(await versions({ fromVersion: 2, after: 5, limit: 1 })).toEqual(['3 at 7'])
    expect(await versions({ fromVersion: 5 })).toEqual([])
    expect(await versions({ stream: 'token-c', fromVersion: 1 })).toEqual([])
  })
}

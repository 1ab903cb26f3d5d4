import { expect, test } from 'vitest'
import type { Append, Appended } from '../../src/store/append.ts'
import type { Store } from '../../src/store/store.ts'

const at = '2030-01-01T00:00:00.000Z'
const machine = { name: 'token', version: 1 }
const digest = new Uint8Array([1, 2, 3])

/** An append of plain events to one stream. */
function toStream(stream: string, expect: Append['streams'][number]['expect'], count = 1): Append {
  const event = { type: 'token.rejected', data: { generation: 1 } }
  return {
    at,
    streams: [{ stream, expect }],
    events: Array.from({ length: count }, () => ({ stream, event, because: 'token.reject', machine })),
  }
}

function positionsOf(appended: Appended): number[] {
  return appended.status === 'appended' ? appended.events.map(event => event.position) : []
}

/** What every store promises, whatever its database. `open` gives an empty one; 1 event stands in it. */
export function storeConformance(open: () => Promise<Store>): void {
  const given = async <T>(work: (store: Store) => Promise<T>) => {
    const store = await open()
    return work(store).finally(() => store.close())
  }

  test('positions are dense and ordered, versions count per stream', () =>
    given(async store => {
      expect(positionsOf(await store.append(toStream('token-a', 'none', 2)))).toEqual([2, 3])
      expect(positionsOf(await store.append(toStream('token-b', 'any')))).toEqual([4])
      expect(positionsOf(await store.append(toStream('token-a', 2)))).toEqual([5])
      const events = await store.read({ stream: 'token-a' })
      expect(events.map(event => [event.version, event.position])).toEqual([
        [1, 2],
        [2, 3],
        [3, 5],
      ])
    }))

  test('a shared secret is the newest of its name, and goes when it is dropped', () =>
    given(async ({ secrets }) => {
      expect(await secrets.find('token-a')).toBeUndefined()
      await secrets.keep('token-a', { generation: 2, value: 'second' })
      await secrets.keep('token-a', { generation: 1, value: 'a late first' })
      await secrets.keep('token-b', { generation: 1, value: 'other' })
      expect(await secrets.find('token-a')).toEqual({ generation: 2, value: 'second' })
      await secrets.keep('token-a', { generation: 3, value: 'ça' })
      expect(await secrets.find('token-a')).toEqual({ generation: 3, value: 'ça' })
      await secrets.drop('token-a')
      expect(await secrets.find('token-a')).toBeUndefined()
      expect(await secrets.find('token-b')).toEqual({ generation: 1, value: 'other' })
    }))

  test.each([
    ['none', 0, true],
    ['none', 1, false],
    ['exists', 0, false],
    ['exists', 1, true],
    ['any', 0, true],
    ['any', 1, true],
    [0, 0, true],
    [1, 1, true],
    [0, 1, false],
    [1, 0, false],
    [2, 1, false],
  ] as const)('expecting %s of a stream with %i events: %s', (expected, events, isDone) =>
    given(async store => {
      if (events > 0) await store.append(toStream('token-a', 'none', events))
      const appended = await store.append(toStream('token-a', expected))
      expect(appended.status).toBe(isDone ? 'appended' : 'conflict')
      expect(await store.read({ stream: 'token-a' })).toHaveLength(events + (isDone ? 1 : 0))
    }),
  )

  test('a conflict on one stream leaves no trace on the others, and burns no position', () =>
    given(async store => {
      const both = {
        ...toStream('token-a', 'none'),
        streams: [{ stream: 'token-a', expect: 'none' as const }],
      }
      const conflicting = {
        ...both,
        streams: [...both.streams, { stream: 'token-b', expect: 'exists' as const }],
      }
      expect((await store.append(conflicting)).status).toBe('conflict')
      expect(await store.read({ stream: 'token-a' })).toEqual([])
      expect(positionsOf(await store.append(toStream('token-c', 'none')))).toEqual([2])
    }))

  test('of racing creations exactly one wins', () =>
    given(async store => {
      const racers = Array.from({ length: 20 }, () => store.append(toStream('token-a', 'none')))
      const won = (await Promise.all(racers)).filter(appended => appended.status === 'appended')
      expect(won).toHaveLength(1)
      expect(await store.read({ stream: 'token-a' })).toHaveLength(1)
    }))

  test('the time of the log never goes back', () =>
    given(async store => {
      await store.append({ ...toStream('token-a', 'none'), at: '2031-01-02T00:00:00.000Z' })
      await store.append({ ...toStream('token-a', 1), at: '2031-01-01T00:00:00.000Z' })
      const [, second] = await store.read({ stream: 'token-a' })
      expect(second?.at).toBe('2031-01-02T00:00:00.000Z')
    }))

  test('a receipt is written with its events, and found again instead of a second append', () =>
    given(async store => {
      const receipt = { commandId: 'c1', digest, code: 'accepted' as const, detail: '' }
      const first = await store.append({ ...toStream('token-a', 'none'), receipt })
      expect(first.status).toBe('appended')
      const second = await store.append({ ...toStream('token-a', 'any'), receipt })
      expect(second).toMatchObject({ status: 'known', receipt: { commandId: 'c1', position: 2 } })
      expect(await store.read({ stream: 'token-a' })).toHaveLength(1)
    }))

  test('a claim on what is claimed already is a conflict', () =>
    given(async store => {
      const claim = { kind: 'cpf', digest, value: 'a' }
      expect((await store.append({ ...toStream('token-a', 'none'), claims: [claim] })).status).toBe(
        'appended',
      )
      expect((await store.append({ ...toStream('token-b', 'none'), claims: [claim] })).status).toBe(
        'conflict',
      )
      const replacing = { ...claim, value: 'b', replaces: 'a' }
      expect((await store.append({ ...toStream('token-b', 'none'), claims: [replacing] })).status).toBe(
        'appended',
      )
    }))

  test('an effect is owed with its event, taken once, and ends once', () =>
    given(async store => {
      const event = {
        type: 'token.requested',
        data: {},
        effects: [{ type: 'tokenService.requestToken', data: {} }],
      }
      const owing = { stream: 'token-a', event, because: 'token.request', machine }
      await store.append({ ...toStream('token-a', 'none'), events: [owing] })
      const now = Date.parse(at)
      expect(await store.dueEffects(now - 1)).toEqual([])
      expect(await store.dueEffects(now)).toEqual(['token-a/1/0'])
      expect(await store.claimEffect('token-a/1/0', now)).toMatchObject({
        wasStarted: false,
        owed: { attempts: 1 },
      })
      expect(await store.claimEffect('token-a/1/0', now)).toBeUndefined()
      expect(await store.dueEffects(now)).toEqual([])
      const settles = { effect: 'token-a/1/0', as: 'settled' as const, because: '' }
      expect((await store.append({ ...toStream('token-a', 1), settles })).status).toBe('appended')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'settled', settledAt: 3 })
      expect((await store.append({ ...toStream('token-a', 2), settles })).status).toBe('conflict')
    }))

  test('an attempt that never reported back is taken again once its lease has run out, and says so', () =>
    given(async store => {
      const event = {
        type: 'token.requested',
        data: {},
        effects: [{ type: 'tokenService.requestToken', data: {} }],
      }
      await store.append({
        ...toStream('token-a', 'none'),
        events: [{ stream: 'token-a', event, because: 'token.request', machine }],
      })
      const now = Date.parse(at)
      await store.claimEffect('token-a/1/0', now)
      expect(await store.claimEffect('token-a/1/0', now + 59_000)).toBeUndefined()
      expect(await store.claimEffect('token-a/1/0', now + 61_000)).toMatchObject({ wasStarted: true })
    }))

  test('an attempt that lost its lease puts nothing off, and ends nothing that another one ended', () =>
    given(async store => {
      const event = {
        type: 'token.requested',
        data: {},
        effects: [{ type: 'tokenService.requestToken', data: {} }],
      }
      const owing = { stream: 'token-a', event, because: 'token.request', machine }
      await store.append({ ...toStream('token-a', 'none'), events: [owing] })
      await store.deferEffect('token-a/1/0', Date.parse(at) + 1, 'it never had it')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'owed', because: '' })
      await store.claimEffect('token-a/1/0', Date.parse(at))
      const settles = { effect: 'token-a/1/0', as: 'settled' as const, because: '' }
      await store.append({ ...toStream('token-a', 1), settles })
      await store.deferEffect('token-a/1/0', Date.parse(at) + 1, 'too late')
      expect(await store.effect('token-a/1/0')).toMatchObject({ state: 'settled', because: '' })
    }))

  test('a part is kept sealed: in clear it stands nowhere, and it opens at its address', () =>
    given(async store => {
      const event = { type: 'subject.enrolled', data: { subject: 'a', origin: 'host' } }
      const parts = { cpf: { owner: 'subject-a', value: '25774435016' } }
      const item = { stream: 'subject-a', event, because: 'subject.enrol', machine, parts }
      await store.append({ ...toStream('subject-a', 'none'), events: [item] })
      const [enrolled] = await store.read({ stream: 'subject-a' })
      expect(JSON.stringify(enrolled)).not.toContain('25774435016')
      expect(enrolled?.parts).toMatchObject([
        { name: 'cpf', owner: 'subject-a', hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
      ])
      expect(await store.open('subject-a/1/cpf')).toBe('25774435016')
      expect(await store.open('subject-a/2/cpf')).toBeUndefined()
    }))

  test('pages are read forward and backward, by type and after a position', () =>
    given(async store => {
      await store.append(toStream('token-a', 'none', 5))
      const positions = async (filter: Parameters<Store['read']>[0]) =>
        (await store.read(filter)).map(event => event.position)
      expect(await positions({ after: 3, limit: 2 })).toEqual([4, 5])
      expect(await positions({ backward: true, limit: 2 })).toEqual([6, 5])
      expect(await positions({ backward: true, after: 3 })).toEqual([2, 1])
      expect(await positions({ types: ['log.began'] })).toEqual([1])
      expect(await positions({ types: ['no.such'] })).toEqual([])
    }))
}

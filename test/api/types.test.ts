import { expectTypeOf, test } from 'vitest'
import type { ConsentEffects } from '../../src/adapters/consent/client.ts'
import type { PendingOf } from '../../src/api/effect-types.ts'
import type { Events, LogStore, Recorded, RecordedBy } from '../../src/api/events.ts'
import type { Module } from '../../src/api/module.ts'
import type { Averba } from '../../src/index.ts'
import type { Store } from '../../src/store/store.ts'
import type { PendingEffect } from '../../src/vocabulary/message.ts'
import type { Performer, PerformersOf } from '../../src/vocabulary/performer.ts'

test('an event has the data of its type after a check of the type', () => {
  const labelOf = (event: Recorded): string => {
    if (event.type === 'retention.applied') return event.data.parts.join()
    // @ts-expect-error: an event of any type has no such data.
    return event.data.parts
  }
  expectTypeOf(labelOf).returns.toBeString()
  expectTypeOf<Recorded<'token.locked'>['data']>().toEqualTypeOf<Events['token.locked']>()
  expectTypeOf<RecordedBy<'reveal'>['type']>().toEqualTypeOf<Extract<keyof Events, `reveal.${string}`>>()
})

test('events that are read by their types are a union of these', () => {
  const readHolds = (store: LogStore) => store.read({ types: ['subject.held', 'subject.released'] })
  expectTypeOf(readHolds).returns.resolves.toEqualTypeOf<Recorded<'subject.held' | 'subject.released'>[]>()
  const readLast = (store: LogStore) => store.readLast({ types: ['portal.listed'] })
  expectTypeOf(readLast).returns.resolves.toEqualTypeOf<Recorded<'portal.listed'> | undefined>()
  const readAll = (store: LogStore) => store.read({ stream: 'consent-a' })
  expectTypeOf(readAll).returns.resolves.toEqualTypeOf<Recorded[]>()
  const readAny = (store: Store) => store.read({ types: ['paint.mixed'] })
  expectTypeOf(readAny).returns.resolves.items.toHaveProperty('data').toBeUnknown()
})

test('the log of a host reads and follows events with the data of their types', () => {
  const follow = ({ log, on }: Averba) => {
    on('recorded', event => expectTypeOf(event).toEqualTypeOf<Recorded>())
    log.follow('mine', ['consent.revoked'], async ({ data }) => {
      expectTypeOf(data).toEqualTypeOf<Events['consent.revoked']>()
    })
    // @ts-expect-error: there is no such type.
    log.follow('mine', ['consent.revokd'], async () => undefined)
  }
  expectTypeOf(follow).toBeFunction()
  const read = ({ log }: Averba) => log.read({ types: ['subject.held'] })
  expectTypeOf(read).returns.toEqualTypeOf<AsyncIterable<Recorded<'subject.held'>>>()
})

test('a performer and a router get the data of their effects', () => {
  type Change = PerformersOf<ConsentEffects>['consentService.changeStatus']
  expectTypeOf<Parameters<Change['perform']>[0]['data']>().toEqualTypeOf<{ status: string }>()
  const perform: Performer<{ day: string }>['perform'] = async ({ data: { day } }) => ({
    status: 'deferred',
    reason: day,
  })
  const failures = { effectClass: 'read', perform, lostFact: () => ({ type: 'portal.lost', data: {} }) } as const
  // @ts-expect-error: the effect has another data, and its facts are others.
  const module: Module = { methods: {}, performers: { 'portal.listFailures': failures } }
  const routers: Module['routers'] = {
    'portal.subscriptionsListed': async (pending, { data }) => {
      expectTypeOf(pending).toEqualTypeOf<PendingOf<'portal.listSubscriptions'>>()
      expectTypeOf(data.items[0]?.remoteId).toEqualTypeOf<number | undefined>()
      // @ts-expect-error: a listed subscription has no CPF.
      return { targets: [], concerns: data.items[0]?.cpf }
    },
  }
  expectTypeOf([module, routers]).toBeArray()
  expectTypeOf<PendingEffect['data']>().toBeUnknown()
})

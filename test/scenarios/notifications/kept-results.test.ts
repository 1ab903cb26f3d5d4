import { afterEach, expect, test, vi } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { AverbaError, type HandlerOptions, type Notification } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

const evento = 'dimp-situacao-import'
const to = { destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj } as const
const bodyOf = ({ body }: Notification) => body as { n: number; about: string }

afterEach(() => void vi.restoreAllMocks())

/** A world whose log can be full while leases are still written. */
async function given() {
  const subscriptions = [{ evento, chaveSecreta: 'um' }]
  const world = await openWorld({ averba: { store: temporaryStore(), subscriptions } })
  const { averba, portal } = world
  await averba.subscriptions.apply(await averba.subscriptions.plan())
  const state = { isFull: false, isFailing: false }
  const record = Engine.prototype.record
  vi.spyOn(Engine.prototype, 'record').mockImplementation(async function (this: Engine, ...args) {
    if (state.isFull) throw new AverbaError('STORE_UNSAFE', 'The disk is full')
    return record.apply(this, args)
  })
  const called: string[] = []
  const handle = async (name: string, options?: HandlerOptions<never>) => {
    averba.notifications.handle(
      evento,
      name,
      async notification => {
        const { n } = bodyOf(notification)
        if (n === 2 && state.isFailing) throw new Error('no')
        called.push(`${name} ${n}`)
      },
      options,
    )
    await averba.settle()
  }
  return {
    ...{ world, state, called, handle },
    notify: (n: number, about = '') => portal.notify({ evento, ...to, body: { n, about } }),
  }
}

test('two handlers with unrecorded results are each called once', async () => {
  const { world, state, called, handle, notify } = await given()
  const { averba, clock } = world
  for (const name of ['crm', 'erp']) await handle(name)
  for (let n = 0; n < 40; n++) await notify(n)
  state.isFull = true
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  await clock.advance(3 * minuteMs)
  state.isFull = false
  await clock.advance(10 * minuteMs)
  stop.abort()
  await clock.finish(running)
  expect(called).toHaveLength(80)
  expect(new Set(called).size).toBe(80)
})

test('with an unrecorded result, a copy causes no further call but a replay does', async () => {
  const { world, state, called, handle, notify } = await given()
  const { averba } = world
  await handle('crm')
  await notify(1)
  state.isFull = true
  await expect(averba.settle()).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  state.isFull = false
  await notify(1)
  await averba.settle()
  expect(called).toEqual(['crm 1'])
  const [notification] = await averba.views.selectFrom('notifications').selectAll().execute()
  const id = notification?.notification.slice('notification-'.length) ?? ''
  await averba.notifications.replay({ id })
  await averba.settle()
  expect(called).toEqual(['crm 1', 'crm 1'])
})

test('a failure on a full disk delays the notifications with its key', async () => {
  const { world, state, called, handle, notify } = await given()
  const { averba, clock } = world
  await handle('crm', { key: each => bodyOf(each).about })
  await notify(1, 'a')
  await notify(2, 'b')
  await notify(3, 'b')
  state.isFailing = true
  state.isFull = true
  await expect(averba.settle()).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
  state.isFull = false
  await averba.settle()
  expect(called).toEqual(['crm 1'])
  state.isFailing = false
  await passTime({ averba, clock }, 10 * minuteMs)
  expect(called).toEqual(['crm 1', 'crm 2', 'crm 3'])
})

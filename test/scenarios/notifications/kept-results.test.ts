import { afterEach, expect, test, vi } from 'vitest'
import { Engine } from '../../../src/engine/engine.ts'
import { AverbaError, type HandlerOptions } from '../../../src/index.ts'
import { notify } from '../../support/notify.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { inboxOf } from '../../support/portal.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

afterEach(() => void vi.restoreAllMocks())

interface Body {
  readonly n: number
  readonly about: string
}

/** A world whose log can be full while leases are still written. */
async function given() {
  const receiver = { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' } as const
  const { averba, clock } = await openWorld({ averba: { store: temporaryStore(), receiver } })
  const state = { isFull: false, isFailing: false }
  const record = Engine.prototype.record
  vi.spyOn(Engine.prototype, 'record').mockImplementation(async function (this: Engine, ...args) {
    if (state.isFull) throw new AverbaError('STORE_UNSAFE', 'The disk is full')
    return record.apply(this, args)
  })
  const called: string[] = []
  const handle = async (name: string, options?: HandlerOptions<Body>) => {
    averba.notifications.handle<Body>(
      'e',
      name,
      async ({ body: { n } }) => {
        if (n === 2 && state.isFailing) throw new Error('no')
        called.push(`${name} ${n}`)
      },
      options,
    )
    await averba.settle()
  }
  return {
    ...{ averba, clock, state, called, handle },
    send: async (n: number, about = '') => expect((await notify(averba, { n, about })).status).toBe(200),
    /** Calls the handlers that are due, and records no result. */
    async settleWhenFull() {
      state.isFull = true
      await expect(averba.settle()).rejects.toMatchObject({ code: 'STORE_UNSAFE' })
      state.isFull = false
    },
  }
}

test('two handlers with unrecorded results are each called once', async () => {
  const { averba, clock, state, called, handle, send } = await given()
  for (const name of ['crm', 'erp']) await handle(name)
  for (let n = 0; n < 40; n++) await send(n)
  state.isFull = true
  const stop = startRun({ averba, clock })
  await clock.advance(3 * minuteMs)
  state.isFull = false
  await clock.advance(10 * minuteMs)
  await stop()
  expect(called).toHaveLength(80)
  expect(new Set(called).size).toBe(80)
})

test('with an unrecorded result, a copy causes no further call but a replay does', async () => {
  const { averba, called, handle, send, settleWhenFull } = await given()
  await handle('crm')
  await send(1)
  await settleWhenFull()
  await send(1)
  await averba.settle()
  expect(called).toEqual(['crm 1'])
  const [{ id } = expect.fail('There is none')] = await inboxOf(averba)
  await averba.notifications.replay({ id })
  await averba.settle()
  expect(called).toEqual(['crm 1', 'crm 1'])
})

test('a failure on a full disk delays the notifications with its key', async () => {
  const { averba, clock, state, called, handle, send, settleWhenFull } = await given()
  await handle('crm', { key: ({ body }) => (body as unknown as Body).about })
  await send(1, 'a')
  await send(2, 'b')
  await send(3, 'b')
  state.isFailing = true
  await settleWhenFull()
  await averba.settle()
  expect(called).toEqual(['crm 1'])
  state.isFailing = false
  await passTime({ averba, clock }, 10 * minuteMs)
  expect(called).toEqual(['crm 1', 'crm 2', 'crm 3'])
})

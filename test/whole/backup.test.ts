import { readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { type Averba, backupStore, diagnoseStore, openAverba, restoreStore } from '../../src/index.ts'
import { notify } from '../support/notify.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { runAverba } from './run-averba.ts'

const receiver = { publicUrl: 'https://receptor.exemplo.br/averba' }

const bodiesOf = (engine: Averba) =>
  Array.fromAsync(engine.notifications.list(), ({ body }) => (body as { i: number }).i)

/** Appends from a number on until told to stop, and says which were acknowledged. */
function putUnderLoad(engine: Averba, from: number) {
  const acknowledged: number[] = []
  let isStopped = false
  const work = [0, 1].map(async worker => {
    for (let i = from + worker; !isStopped; i += 2)
      if ((await notify(engine, { i })).status === 200) acknowledged.push(i)
  })
  return {
    acknowledged,
    async stop() {
      isStopped = true
      await Promise.all(work)
    },
  }
}

test('a backup made under load and restored elsewhere has everything acknowledged, and works', async () => {
  const store = temporaryStore()
  const engine = await openAverba({ store, receiver })
  const all: number[] = []

  // Once from inside the process, once by the operator's command in another one.
  for (const make of [
    (to: string) => backupStore({ store, to }),
    async (to: string) => JSON.parse((await runAverba('backup', '--store', store, to, '--json')).out),
  ]) {
    const load = putUnderLoad(engine, Math.max(-1, ...all) + 1)
    await expect.poll(() => load.acknowledged.length).toBeGreaterThan(50)
    const before = [...all, ...load.acknowledged]
    const backup = join(dirname(store), `backup-${before.length}`)
    const made = await make(backup)
    await load.stop()
    all.push(...load.acknowledged)
    expect(all.length).toBeGreaterThan(before.length)
    expect(made).toMatchObject({ file: backup, epochs: [1], pending: [], bytes: statSync(backup).size })
    expect(statSync(backup).mode & 0o777).toBe(0o600)
    // A single file: the header says that it has no write-ahead log.
    expect([...readFileSync(backup).subarray(18, 20)]).toEqual([1, 1])

    const elsewhere = temporaryStore()
    const restored = await restoreStore({ backup, store: elsewhere, keys: `${store}.keys` })
    expect(restored).toMatchObject({ position: made.position, at: made.at, views: [], pending: [] })
    const again = await openAverba({ store: elsewhere, receiver })
    const bodies = new Set(await bodiesOf(again))
    expect(before.filter(i => !bodies.has(i))).toEqual([])
    expect((await again.rebuild()).every(view => view.differences === 0)).toBe(true)
    const positions = await Array.fromAsync(again.log.read(), ({ position }) => position)
    expect(positions).toEqual(Array.from({ length: made.position }, (_, i) => i + 1))
    expect((await notify(again, { i: 1_000_000 })).status).toBe(200)
    expect(await bodiesOf(again)).toContain(1_000_000)
    await again.close()
    expect((await diagnoseStore({ store: elsewhere, isDeep: true })).problems).toEqual([])
    rmSync(backup)
  }
  expect(new Set(await bodiesOf(engine))).toEqual(new Set(all))
  await engine.close()
})

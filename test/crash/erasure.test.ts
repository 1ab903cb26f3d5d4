import fs, { copyFileSync, existsSync, readFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { diagnoseStore, valueOf } from '../../src/index.ts'
import { checkErasureReceipt } from '../../src/proof/erasure.ts'
import { dayMs, passTime } from '../support/pass-time.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openWorld } from '../support/world.ts'

const erasureRequest = { requester: 'pedido-4711', legalBasis: 'LGPD art. 18, VI' }
const other = '52998224725'

/** Copies the files of a store before and after each commit, journal truncation and keyring write: all crash states. */
async function crashImages(store: string, work: () => Promise<void>) {
  const images: { when: string; store: string }[] = []
  let last = ''
  const take = (when: string) => {
    const ends = ['', '-wal', '.keys', '.keys.new'].filter(end => existsSync(`${store}${end}`))
    const bytes = ends.map(end => readFileSync(`${store}${end}`, 'latin1')).join(ends.join())
    if (bytes === last) return
    last = bytes
    const copy = temporaryStore()
    for (const end of ends) copyFileSync(`${store}${end}`, `${copy}${end}`)
    images.push({ when: `${images.length}: ${when}`, store: copy })
  }
  const undo = (['writeSync', 'fsyncSync', 'renameSync'] as const).map(name => wrapMethod(fs, name, take))
  const prepare = DatabaseSync.prototype.prepare
  DatabaseSync.prototype.prepare = function (this: DatabaseSync, source: string) {
    const statement = prepare.call(this, source)
    if (source === 'commit') wrapMethod(statement, 'run', take)
    if (source.startsWith('pragma wal_checkpoint(truncate')) wrapMethod(statement, 'all', take)
    return statement
  } as typeof prepare // The original is generic.
  syncBuiltinESMExports()
  try {
    await work()
    return images
  } finally {
    DatabaseSync.prototype.prepare = prepare
    for (const each of undo) each()
    syncBuiltinESMExports()
  }
}

/** Takes an image before and after each call. Returns a function that restores the method. */
function wrapMethod<N extends string>(target: object, name: N, take: (when: string) => void): () => void {
  const methods = target as Record<N, (...given: unknown[]) => unknown> // It has the method.
  const original = methods[name]
  methods[name] = function (this: unknown, ...given: unknown[]) {
    take(`before ${name}`)
    const result = original.apply(this, given)
    take(`after ${name}`)
    return result
  }
  return () => {
    methods[name] = original
  }
}

test('an erasure interrupted at any point has not begun, or is completed after a restart', async () => {
  const store = temporaryStore()
  const first = await openWorld({ averba: { store } })
  const { samples } = first
  first.consentService.addConsent({ cpf: other })
  const enrol = async (cpf: string) => {
    const subject = await first.averba.consents.enrol({ cpf })
    valueOf(await first.averba.consents.sync({ subject }))
    return subject
  }
  const erased = await enrol(samples.cpf)
  await enrol(other)
  await first.averba.close()

  // Opened inside, so that its statements are wrapped.
  const images = await crashImages(store, async () => {
    const world = await openWorld({ averba: { store, backupRetentionDays: 1 } })
    await world.averba.subjects.erase({ subject: erased }, erasureRequest)
    await passTime(world, dayMs)
    expect(await world.averba.subjects.receipt(erased)).toMatchObject({ epochsDestroyedAt: expect.any(String) })
    await world.averba.close()
  })
  const seen = { untouched: 0, interrupted: 0, complete: 0 }
  for (const { when, store: image } of images) {
    const world = await openWorld({ averba: { store: image, backupRetentionDays: 1 } })
    const { consents, effects, subjects } = world.averba
    const before = await subjects.receipt(erased)
    seen[before?.completed ? 'complete' : before ? 'interrupted' : 'untouched'] += 1
    if (!before) {
      expect((await consents.list({ subject: erased })).length, when).toBeGreaterThan(0)
      await subjects.erase({ subject: erased }, erasureRequest)
    }
    // The effects of the killed process are taken over when their lease has ended.
    await passTime(world, dayMs + 60_000)
    const receipt = await subjects.receipt(erased)
    expect(receipt, when).toMatchObject({ completed: { found: 0 }, destroyed: { keys: 1 } })
    expect(receipt && checkErasureReceipt(receipt), when).toEqual([])
    await passTime(world, dayMs)
    expect(await subjects.receipt(erased), when).toMatchObject({ epochsDestroyedAt: expect.any(String) })
    await expect(consents.list({ subject: erased }), when).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
    await expect(consents.list({ cpf: samples.cpf }), when).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect((await consents.list({ cpf: other })).length, when).toBeGreaterThan(0)
    expect(await effects.list({ state: 'pending' }), when).toEqual([])
    await world.averba.close()
    const { problems, epochs } = await diagnoseStore({ store: image, isDeep: true })
    expect(problems, when).toEqual([])
    expect(epochs, when).toHaveLength(1)
    expect(existsSync(`${image}.keys.new`), when).toBe(false)
  }
  expect(seen.untouched).toBeGreaterThan(0)
  expect(seen.interrupted).toBeGreaterThan(5)
  expect(seen.complete).toBeGreaterThan(2)
}, 120_000)

import { expect, test } from 'vitest'
import type { Averba, LogLine, Recorded } from '../../../src/index.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { seededEntropy, VirtualClock } from '../../../src/simulation/index.ts'
import { Tags } from '../../../src/store/log/tags.ts'
import { openKeyring } from '../../../src/vault/keyring.ts'
import { KeyringFile } from '../../../src/vault/keyring-file.ts'
import { notify as send } from '../../support/notify.ts'
import { passTime } from '../../support/pass-time.ts'
import { inboxOf } from '../../support/portal.ts'
import { refuses } from '../../support/refuses.ts'
import { Sqlite } from '../../support/sqlite.ts'
import { startRun } from '../../support/start-run.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { withoutGuards } from '../../support/use-database.ts'
import { openEngine } from '../../support/world.ts'

/** A log, the lines it logs, and direct access to its file. */
async function given() {
  const clock = new VirtualClock()
  const store = temporaryStore()
  const logged: string[] = []
  const averba = await openEngine({
    store,
    clock,
    entropy: seededEntropy(1),
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba', sources: 'any' },
    logger: ({ message, follower, handler, attempt, error }: LogLine) =>
      void logged.push([message, follower ?? handler, attempt, error].join(' ')),
  })
  const file = new Sqlite(store)
  const tags = new Tags(await openKeyring(new KeyringFile(`${store}.keys`, systemEntropy), systemEntropy))
  /** Changes a header as somebody with the keys could; calling the result restores it. */
  const change = (position: number, how: (header: string) => string) => {
    const was = String(file.value('select header from event where position = ?', position))
    const update = file.prepare('update event set header = ?, tag = ? where position = ?')
    const put = (header: string) => withoutGuards(file, () => update.run(header, tags.ofEvent(header), position))
    put(how(was))
    return () => put(was)
  }
  const run = async (ms: number) => {
    const stop = startRun({ averba, clock })
    await clock.advance(ms)
    await stop()
  }
  const follow = (name: string, type: Recorded['type']) => {
    const seen: number[] = []
    averba.log.follow(name, [type], async ({ position }) => void seen.push(position))
    return seen
  }
  const enrolAll = async () => {
    for (const cpf of ['25774435016', '11144477735', '52998224725']) await averba.consents.enrol({ cpf })
  }
  const ofFollowers = async () => {
    const { ready, checks } = await averba.health({ only: ['followers', 'notifications'] })
    expect(ready).toBe(true)
    return checks.map(({ ok, detail }) => `${ok} ${detail}`)
  }
  return { averba, clock, logged, file, change, run, follow, enrolAll, ofFollowers }
}

/** Damages a header as if it had been cut off. */
const cutOff = (header: string) => header.slice(0, -1)

async function notify(averba: Averba, body: unknown, evento: string): Promise<void> {
  expect((await send(averba, body, { 'event-type': evento })).status).toBe(200)
}

test('a notification with a damaged body is parked and listed as such, and all others are handled', async () => {
  const { averba, clock, logged, file, run, ofFollowers } = await given()
  await notify(averba, { n: 0 }, 'evento-a')
  file.exec(`update part set sealed = cast(substr(sealed, 1, length(sealed) - 1) || x'00' as blob)`)
  await notify(averba, { n: 1 }, 'evento-a')
  await notify(averba, { n: 2 }, 'evento-b')
  expect(await inboxOf(averba)).toMatchObject([{ body: null, isDamaged: true }, { body: { n: 1 } }, { body: { n: 2 } }])
  const seen: unknown[] = []
  for (const evento of ['evento-a', 'evento-b'])
    averba.notifications.handle(evento, 'crm', async ({ body }) => void seen.push(body))
  averba.log.follow('all', ['notification.received'], async ({ position }) => void seen.push(position))
  await run(20_000)
  expect(seen).toHaveLength(5)
  await passTime({ averba, clock }, 900_000, 8)
  expect(seen).toHaveLength(5)
  expect(await inboxOf(averba)).toMatchObject([
    { state: 'parked', isDamaged: true, handlers: [{ attempts: 12, reason: 'CORRUPT' }] },
    { state: 'handled' },
    { state: 'handled' },
  ])
  const remedy = 'fix the handler, then call notifications.replay({ failed: true }), or notifications.skip("<id>")'
  expect(await ofFollowers()).toEqual(['true no follower is parked', `false 1 parked, 0 to be retried: ${remedy}`])
  expect(logged.filter(line => line.includes('CORRUPT'))).toEqual([
    ...[1, 2, 4, 8].map(attempt => `a handler failed for a notification crm ${attempt} CORRUPT`),
    'a notification is parked crm 12 CORRUPT',
  ])
})

test('a follower is parked at a damaged event, and continues after it when an operator skips it', async () => {
  const { averba, logged, change, run, follow, enrolAll, ofFollowers } = await given()
  await enrolAll()
  change(3, cutOff)
  const seen = follow('crm', 'subject.enrolled')
  await run(200_000)
  expect(seen).toEqual([2])
  expect(await averba.log.followers()).toMatchObject([{ position: 2, isParked: true, attempts: 8, reason: 'CORRUPT' }])
  expect(await ofFollowers()).toEqual(['false crm parked: use log.retry("crm") or log.skip("crm")', expect.anything()])
  expect(logged.at(-1)).toBe('a follower failed too often and is parked crm 8 CORRUPT')
  await averba.log.skip('crm')
  await averba.settle()
  expect(seen).toEqual([2, 4])
})

test('a follower that only this process cannot continue is released, logged and retried', async () => {
  const { averba, logged, file, change, run, follow, enrolAll, ofFollowers } = await given()
  await enrolAll()
  const putBack = change(3, header => header.replace(/}$/, ',"schema":2}'))
  const seen = follow('crm', 'subject.enrolled')
  const others = follow('other', 'log.began')
  await run(600_000)
  expect([seen, others]).toEqual([[2], [1]])
  const crm = file.prepare('select position, attempts, is_parked, lease_owner from follower where name = ?')
  expect(crm.get('crm')).toEqual({ position: 2, attempts: 0, is_parked: 0, lease_owner: null })
  expect(logged.filter(line => line.includes('NOT_OURS'))).toEqual(
    [1, 2, 4, 8].map(attempt => `a follower cannot continue; it is tried again crm ${attempt} NOT_OURS`),
  )
  expect(await ofFollowers()).toEqual([
    expect.stringMatching(/^false crm cannot continue: .*schema is 2.*Update averba$/),
    expect.anything(),
  ])
  await refuses('NOT_OURS', averba.settle())
  putBack()
  await run(300_000)
  expect(seen).toEqual([2, 3, 4])
  expect(await ofFollowers()).toEqual(['true no follower is parked', expect.anything()])
})

test('a handler is parked at an unreadable arrival after handling earlier ones, and can skip it', async () => {
  const { averba, change, run } = await given()
  for (const n of [1, 2, 3]) await notify(averba, { n }, 'evento-a')
  change(3, cutOff)
  const seen: unknown[] = []
  averba.notifications.handle('evento-a', 'crm', async ({ body }) => void seen.push(body))
  await run(600_000)
  expect(seen).toEqual([{ n: 1 }])
  expect(await averba.log.followers()).toMatchObject([{ position: 2, isParked: true, reason: 'CORRUPT' }])
  await averba.log.skip('notifications/evento-a/crm')
  await averba.settle()
  expect(seen).toEqual([{ n: 1 }, { n: 3 }])
})

test('a notification whose own history is damaged is set aside and reported, and others are handled', async () => {
  const { averba, logged, change, run, ofFollowers } = await given()
  await notify(averba, { n: 1 }, 'evento-a')
  let isBroken = true
  const seen: unknown[] = []
  averba.notifications.handle('evento-a', 'crm', async ({ body }) => {
    if (isBroken) throw new RangeError()
    seen.push(body)
  })
  await averba.settle()
  isBroken = false
  await notify(averba, { n: 2 }, 'evento-a')
  const putBack = change(3, cutOff)
  await run(60_000)
  expect(seen).toEqual([{ n: 2 }])
  expect(logged.filter(line => line.includes('CORRUPT'))).toEqual(
    [1, 2, 4].map(attempt => `a handler failed for a notification crm ${attempt} CORRUPT`),
  )
  expect(await ofFollowers()).toEqual([
    expect.stringMatching(/^false notifications\/evento-a\/crm cannot continue: Cannot read an event/),
    expect.anything(),
  ])
  putBack()
  await run(60_000)
  expect(seen).toEqual([{ n: 2 }, { n: 1 }])
  expect(await ofFollowers()).toEqual(['true no follower is parked', 'true 0 parked, 0 to be retried'])
})

import Sqlite from 'better-sqlite3'
import { expect, test } from 'vitest'
import { diagnoseStore, type LogLine, openAverba } from '../../src/index.ts'
import { simulate, VirtualClock } from '../../src/simulation/index.ts'
import { newPath } from '../store/sample-store.ts'

const cpfs = ['25774435016', '52998224725', '11144477735']

/** A log whose view of data subjects cannot be written, as long as it is broken. */
async function given() {
  const store = newPath()
  const clock = new VirtualClock()
  const lines: LogLine[] = []
  const averba = await openAverba({ store, clock, logger: line => lines.push(line) })
  const other = new Sqlite(store)
  const broken = "create trigger broken before insert on subjects begin select raise(abort, 'no'); end"
  return {
    ...{ store, clock, averba },
    breakIt: () => other.exec(broken),
    mend: () => other.exec('drop trigger broken'),
    told: () => lines.filter(line => line.view === 'subjects').map(line => line.message),
    health: async () => (await averba.health({ only: ['views'] })).checks[0],
    isRunning: async () => (await averba.figures()).views.find(each => each.view === 'subjects')?.isRunning,
    count: async () => (await averba.views.selectFrom('subjects').select('subject').execute()).length,
    async close() {
      other.close()
      await averba.close()
    },
  }
}

const stopped = 'a view failed and stands still, and is tried again'

test('a view that stopped comes back while run goes on, once it is mended, and is seen to stand still until then', async () => {
  const { averba, clock, store, ...view } = await given()
  const stop = new AbortController()
  const running = averba.run({ signal: stop.signal })
  await averba.consents.enrol({ cpf: cpfs[0] ?? '' })
  view.breakIt()
  await averba.consents.enrol({ cpf: cpfs[1] ?? '' })
  await averba.consents.enrol({ cpf: cpfs[2] ?? '' })
  expect(await view.count()).toBe(1)
  await clock.advance(60_000)
  // It stopped, was tried at the next look, and after 1, 2, 4, 8, 16 seconds from then.
  expect(view.told().length).toBeGreaterThan(5)
  expect(view.told().length).toBeLessThan(9)
  expect(new Set(view.told())).toEqual(new Set([stopped]))
  const because = expect.stringMatching(
    /^subjects stands still: SqliteError at position \d+: run brings back/,
  )
  expect(await view.health()).toMatchObject({ ok: false, detail: because })
  expect(await view.isRunning()).toBe(false)
  const { problems } = await diagnoseStore({ store })
  expect(problems).toEqual([expect.stringMatching(/^views: subjects stands still: SqliteError at position/)])
  view.mend()
  await clock.advance(64_000)
  expect(view.told().at(-1)).toBe('a view stood still and has caught up')
  expect(await view.health()).toMatchObject({ ok: true })
  expect(await view.isRunning()).toBe(true)
  expect(await view.count()).toBe(3)
  expect((await averba.rebuild()).every(each => each.differences === 0)).toBe(true)
  stop.abort()
  await running
  await view.close()
})

test('settle brings a view back too, and an operator’s rebuild at once', async () => {
  const { averba, ...view } = await given()
  view.breakIt()
  await averba.consents.enrol({ cpf: cpfs[0] ?? '' })
  await averba.settle()
  expect(await view.isRunning()).toBe(false)
  view.mend()
  // It was tried just now: settle leaves it until its time has come.
  await averba.settle()
  expect(await view.isRunning()).toBe(false)
  await averba.rebuild({ views: ['subjects'] })
  expect(await view.isRunning()).toBe(true)
  await view.clock.advance(10_000)
  await averba.settle()
  view.breakIt()
  await averba.consents.enrol({ cpf: cpfs[1] ?? '' })
  view.mend()
  await averba.settle()
  expect(await view.isRunning()).toBe(true)
  expect(await view.count()).toBe(2)
  await view.close()
})

test('an awareness record that vanishes while its view stands still is noticed', async () => {
  const store = newPath()
  let isHidden = false
  const world = await simulate({
    averba: { store },
    intercept: async (request, forward) =>
      isHidden && /ciencias\/\d+$/.test(request.url) ? Response.json([]) : forward(request),
  })
  const { averba, samples } = world
  const other = new Sqlite(store)
  other.exec("create trigger broken before insert on awareness begin select raise(abort, 'no'); end")
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  const heard: string[] = []
  averba.on('recorded', ({ type }) => void heard.push(type))
  for (isHidden of [false, true, true, false]) {
    await world.clock.advance(1_000)
    await averba.awareness.list({ subject, ageMaxMs: 0 })
  }
  expect(heard.filter(type => /Appeared|Vanished/.test(type))).toEqual([
    'subject.awarenessAppeared',
    'subject.awarenessVanished',
    'subject.awarenessAppeared',
  ])
  expect((await averba.figures()).views.find(each => each.view === 'awareness')?.isRunning).toBe(false)
  other.close()
  await world.close()
})

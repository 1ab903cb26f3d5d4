import { expect, test } from 'vitest'
import { type Averba, AverbaError, copyStore, diagnoseStore, drawCharts, valueOf, verifyLog } from '../../src/index.ts'
import { openWorld } from '../support/world.ts'

// What JavaScript passes, and spread objects: the types do not see it.
const [who, basis] = [{ cpf: '25774435016' }, { purpose: 'x', legalBasis: 'x' }]
const noId = "Cannot use the record's id"
test.each<[call: (averba: Averba, wrong: never) => Promise<unknown>, wrong: unknown, message: string, code?: string]>([
  [({ consents }, wrong) => consents.enrol(wrong), { ...who, syncEveryMs: 1 }, 'Cannot read consents that often'],
  [({ consents }, wrong) => consents.enrol(wrong), { ...who, syncEvery: 1 }, 'Unknown member "syncEvery"'],
  [({ consents }, wrong) => consents.enrol(who, wrong), { syncEvery: 1 }, 'Unknown option "syncEvery"'],
  [({ consents }, wrong) => consents.enrol(wrong), { cpf: 25774435016 }, 'Cannot read the CPF', 'INVALID_CPF'],
  [({ consents }, wrong) => consents.list(wrong), { ...who, satus: 'ATIVO' }, 'Unknown member "satus"'],
  [({ consents }, wrong) => consents.list(wrong), { ...who, id: 'x' }, 'Unknown member "id"'],
  [({ subjects }, wrong) => subjects.erase(wrong, wrong), { ...who, id: 'x' }, 'Unknown member "id"'],
  [({ consents }, wrong) => consents.sync(wrong), { ...who, cpnj: '1' }, 'Unknown member "cpnj"'],
  [({ consents }, wrong) => consents.get(wrong), who, noId],
  [({ consents }, wrong) => consents.revoke(wrong), who, noId],
  [({ consents }, wrong) => consents.standing(wrong), who, noId],
  [({ consents }, wrong) => consents.use(wrong, { basis }), { ...who, id: '' }, noId],
  [({ awareness }, wrong) => awareness.list(wrong), { ...who, ageMax: 1 }, 'Unknown member "ageMax"'],
  [({ audit }, wrong) => audit.prove(wrong), { consent: who, knownat: 1 }, 'Unknown member "knownat"'],
  [({ notifications }, wrong) => notifications.replay(wrong), { failed: true, e: 1 }, 'Unknown member "e"'],
  [({ subscriptions }, wrong) => subscriptions.rotate(wrong), 'x', 'no subscription to this event', 'NOT_FOUND'],
  [async ({ subscriptions }, wrong) => subscriptions.failures(wrong), { recovery: true }, 'Unknown member "recovery"'],
  [({ subscriptions }, wrong) => subscriptions.apply(wrong, wrong), { delete: 1 }, 'Unknown option "delete"'],
  [({ logins }, wrong) => logins.url(who, wrong), { url: 'https://a' }, 'Unknown option "url"'],
  [averba => averba.settle({ timeout: 1 } as never), undefined, 'Unknown option "timeout"'],
  [({ validations }, wrong) => Array.fromAsync(validations.list(wrong)), { til: 1 }, 'Unknown member "til"'],
  [({ validations }, wrong) => validations.resolve('a', wrong), { charged: true, not: 'x' }, 'Unknown member "not"'],
  [({ validations }, wrong) => validations.get(wrong), undefined, 'Cannot use the validation id'],
  [({ validations }, wrong) => validations.resolve('a', wrong), undefined, 'Cannot use the argument'],
  [async (_, wrong) => valueOf(wrong), {}, 'this is no outcome'],
  [async (_, wrong) => drawCharts(wrong, 'json'), 'consent', 'are no list'],
  [({ effects }, wrong) => effects.retry(wrong), {}, 'Cannot use the id of a call'],
  [({ consents }, wrong) => consents.of(wrong), {}, 'Cannot use the name of a stream'],
  [({ consents }, wrong) => Array.fromAsync(consents.enrolAll(wrong)), {}, 'they are no list'],
  [({ consents }, wrong) => consents.enrol(who, wrong), null, 'Cannot call consents.enrol: argument 2 is missing'],
  [({ consents }, wrong) => consents.schedule(who, wrong), undefined, 'Cannot call consents.schedule: argument 2'],
  [({ viewAsOf }, wrong) => viewAsOf('consents', wrong), undefined, 'neither a position nor an instant'],
  [async ({ log }, wrong) => log.read(wrong), { stream: 42 }, 'Cannot use the name of a stream'],
  [async ({ on }, wrong) => on(wrong, () => undefined), 'consent.revokd', 'Cannot listen: the type is unknown'],
  [({ health }, wrong) => health(wrong), { onli: [] }, 'Unknown option "onli"'],
  [({ subjects }, wrong) => subjects.report(who as never, wrong), { formt: 'html' }, 'Unknown option "formt"'],
  [(_, wrong) => verifyLog(wrong), { store: 'x', mrk: 'y' }, 'Unknown option "mrk"'],
  [({ audit }, wrong) => audit.verify(wrong), { marks: 'y' }, 'Unknown option "marks"'],
  [(_, wrong) => copyStore(wrong), { from: {}, to: { keyRing: 'y' } }, 'Unknown option "keyRing" of the new place'],
  [({ subscriptions }, wrong) => subscriptions.apply(wrong), Promise.resolve({}), 'this is no plan'],
  [(_, wrong) => diagnoseStore(wrong), { store: 'x', deep: true }, 'Unknown option "deep"'],
  // What checks nothing would be ready.
  [({ health }, wrong) => health(wrong), { only: ['store', 'misspelt'] }, 'Cannot use the name of a check'],
])('what would be ignored is refused: %s %j', async (call, wrong, message, code = 'INVALID_INPUT') => {
  const { averba } = await openWorld()
  const error = { name: 'AverbaError', code, message: expect.stringContaining(message), hint: expect.any(String) }
  await expect(call(averba, wrong as never)).rejects.toMatchObject(error)
})

test('a method without its arguments is refused by an error of averba, or needs none', async () => {
  const { close: _, run: __, views: ___, ...methods } = (await openWorld()).averba
  for (const [area, member] of Object.entries<object>(methods))
    for (const [name, method] of Object.entries(typeof member === 'function' ? { member } : member)) {
      const call = async () => Object(await Reflect.apply(method, undefined, [])).next?.()
      const found = await call().catch(cause => cause)
      if (found instanceof Error) expect(found, `${area} ${name}`).toBeInstanceOf(AverbaError)
    }
})

import { join } from 'node:path'
import { systemClock, systemEntropy } from '../src/clock.ts'
import { Engine } from '../src/engine.ts'
import { subjectMachine } from '../src/machines/subject.ts'
import { validationMachine } from '../src/machines/validation.ts'
import type { Store } from '../src/store/store.ts'
import { readHeaderText } from './header-text.ts'
import { interleave, medianOf, rateOf, ratioOf } from './measure.ts'
import { openEmmett } from './peers.ts'
import { RawLog } from './raw-log.ts'
import { RawRows } from './raw-rows.ts'
import { Callers, consentEvent, createId, eventsPerStream, openStore } from './workload.ts'

const callers = 64
const manyEvents = 12_800
const fewEvents = 2_000
const emmettEvents = 1_280

/** Appends bare and through the engine, by 64 callers and by one, against raw inserts and against Emmett. */
export async function benchAppends(
  folder: string,
  say: (line: string) => void,
): Promise<Record<string, number>> {
  const store = await openStore(folder, 'bare.sqlite', [])
  const alone = await openStore(folder, 'bare-one.sqlite', [])
  const full = await openStore(folder, 'full.sqlite')
  const engine = await openEngine(full)
  const [many, one] = [new Callers(store, callers), new Callers(alone, 1)]
  const emmett = await openEmmett(join(folder, 'emmett.sqlite'), say)
  // Far enough into the log: a position of one digit makes rows of which one more fits on a page.
  await many.append(manyEvents)
  await validateAll(engine, callers)
  const amended = { type: 'consent.amended', header: await readHeaderText(store), eventsPerStream }
  const raw = new RawLog(join(folder, 'raw.sqlite'), { ...amended, callers })
  const rawOne = new RawLog(join(folder, 'raw-one.sqlite'), { ...amended, callers: 1 })
  const rawFull = new RawRows(join(folder, 'raw-full.sqlite'), join(folder, 'full.sqlite'), createId)
  const { data } = consentEvent(`consent-${createId()}`, 2).event
  say(
    `appends: headers of ${amended.header.length} bytes bare, ${(await readHeaderText(full)).length} full, synchronous=FULL`,
  )
  const rates = await interleave(
    {
      raw64: () => rateOf(manyEvents, () => raw.insert(manyEvents)),
      bare64: () => rateOf(manyEvents, () => many.append(manyEvents)),
      rawFull64: () => {
        const rows = rawFull.make(manyEvents / 2)
        return rateOf(rows.length, () => rawFull.insert(rows, callers))
      },
      full64: () => rateOf(manyEvents / 2, () => validateAll(engine, manyEvents / 2)),
      raw1: () => rateOf(fewEvents, () => rawOne.insert(fewEvents)),
      bare1: () => rateOf(fewEvents, () => one.append(fewEvents)),
      emmett64: () =>
        rateOf(emmettEvents, () =>
          emmett.appendAll(emmettEvents, callers, () => `consent-${createId()}`, data as object),
        ),
    },
    say,
  )
  emmett.close()
  raw.close()
  rawOne.close()
  rawFull.close()
  await full.close()
  await store.close()
  await alone.close()
  return {
    rawPerSecond64: Math.round(medianOf(rates.raw64)),
    rawFullPerSecond64: Math.round(medianOf(rates.rawFull64)),
    barePerSecond64: Math.round(medianOf(rates.bare64)),
    fullPerSecond64: Math.round(medianOf(rates.full64)),
    emmettPerSecond64: Math.round(medianOf(rates.emmett64)),
    appendBare64: ratioOf(rates.bare64, rates.raw64),
    appendFull64: ratioOf(rates.full64, rates.raw64),
    appendFull64VsOwnRows: ratioOf(rates.full64, rates.rawFull64),
    append1: ratioOf(rates.bare1, rates.raw1),
    vsEmmett64: ratioOf(rates.bare64, rates.emmett64),
  }
}

const subjectsCount = 256

/** An engine with people who are known to it. */
export interface BenchEngine {
  readonly engine: Engine
  readonly subjects: readonly string[]
}

/** Opens an engine on a store, with all that a command goes through. */
export async function openEngine(store: Store): Promise<BenchEngine> {
  const engine = new Engine({
    store,
    clock: systemClock,
    entropy: systemEntropy,
    createId,
    machines: [subjectMachine, validationMachine],
    performers: {},
    routers: {},
    onTrouble: (what, error) => console.error(what, error),
  })
  const subjects = Array.from({ length: subjectsCount }, () => createId())
  for (const subject of subjects) {
    const parts = { cpf: { owner: `subject-${subject}`, value: '00000000000' } }
    const message = { type: 'subject.enrol', data: { subject, origin: 'host' }, parts }
    await engine.handle({ subject }, async () => ({ targets: [{ stream: `subject-${subject}`, message }] }))
  }
  return { engine, subjects }
}

const claims = { nome: 'MARIA DE EXEMPLO SOUZA', data_nascimento: '1990-05-17', situacao_cpf: 'regular' }

/** Requests validations: each with a machine, a receipt, an effect, a row of a view, a leaf and a sealed part. */
export async function validateAll({ engine, subjects }: BenchEngine, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; n < count / callers; n++) {
        const subject = subjects[(n * callers + caller) % subjects.length] ?? ''
        const validation = createId()
        const parts = { claims: { owner: `subject-${subject}`, value: claims } }
        const message = { type: 'validation.request', data: { validation, id: validation, subject }, parts }
        await engine.handle({ validation, claims }, async () => ({
          targets: [{ stream: `validation-${validation}`, message, isNew: true }],
        }))
      }
    }),
  )
}

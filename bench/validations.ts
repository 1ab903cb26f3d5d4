import { Engine } from '../src/engine/engine.ts'
import { subjectMachine } from '../src/machines/subject/subject.ts'
import { validationMachine } from '../src/machines/validation.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { systemEntropy } from '../src/runtime/entropy.ts'
import type { Store } from '../src/store/store.ts'
import { createId } from './workload.ts'

const subjectsCount = 256
const claims = { nome: 'MARIA DE EXEMPLO SOUZA', data_nascimento: '1990-05-17', situacao_cpf: 'regular' }

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
    machines: [subjectMachine, validationMachine],
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

/** Requests validations: each with a machine, an effect, a row of a view, a leaf and a sealed part. */
export async function validateAll({ engine, subjects }: BenchEngine, count: number, callers: number): Promise<void> {
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

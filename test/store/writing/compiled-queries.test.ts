import { SqliteQueryCompiler } from 'kysely'
import { expect, test, vi } from 'vitest'
import { views } from '../../../src/views/views.ts'
import { openStore } from '../../support/store.ts'
import { appendOf } from '../append-of.ts'

test('an append compiles no query, on a new stream or an existing one: compiling takes as long as running it', async () => {
  const store = await openStore({ views })
  const compile = vi.spyOn(SqliteQueryCompiler.prototype, 'compileQuery')
  await store.countPending()
  expect(compile).toHaveBeenCalledTimes(1)
  const data = { subject: 'a', origin: 'host' }
  const effects = [{ type: 'e.do', data: {} }]
  const parts = { cpf: { owner: 'subject-a', value: 'x' } }
  for (let round = 0; round < 2; round++) {
    const others = {
      receipt: { commandId: `c${round}`, digest: new Uint8Array(), code: 'accepted', detail: '' } as const,
      indexEntries: [{ kind: 'cpf', digest: new Uint8Array([round]), value: 'a' }],
      recent: { digest: new Uint8Array([round]), since: 0, until: 0 },
    }
    const enrolled = { type: 'subject.enrolled', data, effects, parts }
    expect(await store.append(appendOf('subject-a', round, [enrolled], others))).toMatchObject({ status: 'appended' })
  }
  expect(compile).toHaveBeenCalledTimes(1)
  compile.mockRestore()
})

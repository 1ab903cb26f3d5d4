import { expect, test, vi } from 'vitest'
import { type LogLine, onlyAllowed } from '../../src/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine } from '../support/world.ts'

test('unknown fields and fields of a wrong type are removed', () => {
  const line = {
    message: 'm',
    status: 503,
    port: '7',
    cpf: '25774435016',
    body: { cpf: '25774435016' },
    evento: { toString: () => '25774435016' },
    ['__proto__']: { cpf: '25774435016' },
  }
  // A caller that bypasses the type.
  expect(onlyAllowed(line as unknown as LogLine)).toEqual({ message: 'm', status: 503 })
})

test('a level that is none of the three is left out, and a long text is shortened', () => {
  const line = { level: '25774435016', message: 'm', detail: 'x'.repeat(10_000) }
  expect(onlyAllowed(line as unknown as LogLine)).toEqual({ message: 'm', detail: expect.stringMatching(/^.{500}$/) })
})

test('the type allows only the known fields', () => {
  // @ts-expect-error: no such field
  const line: LogLine = { level: 'info', message: 'm', cpf: '25774435016' }
  expect(onlyAllowed(line)).toEqual({ level: 'info', message: 'm' })
})

test('a failing listener does not affect the append, and its error is logged without what others wrote', async () => {
  const lines: LogLine[] = []
  const averba = await openEngine({ store: ':memory:', logger: line => void lines.push(line) })
  const announced: string[] = []
  averba.on('subject.enrolled', () => {
    throw Object.assign(new Error('25774435016'), { cpf: '25774435016' })
  })
  const stop = averba.on('subject.enrolled', event => void announced.push(event.type))
  averba.on('subject.enrolled', async () => {
    throw new TypeError('25774435016')
  })
  averba.on('subject.enrolled', () => {
    throw Object.assign(new Error('it failed'), { name: 'no customer with CPF 25774435016' })
  })
  await averba.consents.enrol({ cpf: '25774435016' })
  stop()
  await averba.consents.enrol({ cpf: '11144477735' })
  expect(announced).toEqual(['subject.enrolled'])
  const failed = ['Error', 'Error', 'TypeError'].map(error => ({ level: 'error', message: 'a listener failed', error }))
  expect(lines).toEqual([...failed, ...failed])
})

const rejects = () => Promise.reject(new Error('disk full'))
const throws = () => {
  throw new Error('disk full')
}

test.each(Object.entries({ throws, rejects }))('a logger that %s has no effect', async (_, fail) => {
  const logger = vi.fn(fail)
  const averba = await openEngine({ store: temporaryStore(), logger })
  // A keyring was made.
  expect(logger).toHaveBeenCalledTimes(1)
  averba.on('subject.enrolled', () => {
    throw new Error('x')
  })
  // An unhandled rejection fails this test.
  await averba.consents.enrol({ cpf: '25774435016' })
  expect(logger).toHaveBeenCalledTimes(2)
})

test('a line says how grave it is', async () => {
  const lines: LogLine[] = []
  const averba = await openEngine({ store: temporaryStore(), logger: line => void lines.push(line) })
  averba.notifications.handle('undeclared', 'crm', async () => undefined)
  averba.on('subject.enrolled', () => {
    throw new Error('it failed')
  })
  await averba.consents.enrol({ cpf: '25774435016' })
  expect(lines.map(({ level }) => level)).toEqual(['info', 'error'])
  const subscriptions = [{ evento: 'e', endpoint: 'https://a.exemplo.br/' }]
  const declared = await openEngine({ store: ':memory:', logger: line => void lines.push(line), subscriptions })
  declared.notifications.handle('undeclared', 'crm', async () => undefined)
  expect(lines.at(-1)).toMatchObject({ level: 'warn', evento: 'undeclared' })
})

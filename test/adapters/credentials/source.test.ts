import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { valueFrom } from '../../../src/adapters/credentials/secret.ts'

const never = () => new Promise<string>(() => undefined)

test('a function that never answers fails after a time limit, and a late answer is ignored', async () => {
  const failed = {
    code: 'MISCONFIGURED',
    message: expect.stringContaining('the function that gives it did not answer'),
  }
  await expect(valueFrom(never, 'secret', 10)).rejects.toMatchObject(failed)
  const { promise, reject } = Promise.withResolvers<string>()
  await expect(valueFrom(() => promise, 'secret', 10)).rejects.toMatchObject(failed)
  reject(new Error('later'))
  await expect(valueFrom(async () => 'x', 'secret', 10)).resolves.toBe('x')
  await expect(valueFrom(() => 'x', 'secret', 10)).resolves.toBe('x')
})

test('thenables of other libraries have the same time limit, and their errors are wrapped', async () => {
  class Foreign {
    readonly settle: (resolve: (text: string) => void, reject: (error: unknown) => void) => void
    constructor(settle: Foreign['settle']) {
      this.settle = settle
    }
    // biome-ignore lint/suspicious/noThenProperty: a thenable of a library, not a Promise
    then(resolve: (text: string) => void, reject: (error: unknown) => void): void {
      this.settle(resolve, reject)
    }
  }
  const foreign = (settle: Foreign['settle']) => new Foreign(settle) as unknown as Promise<string> // A thenable.
  await expect(valueFrom(() => foreign(() => undefined), 'secret', 10)).rejects.toMatchObject({
    code: 'MISCONFIGURED',
  })
  const failing = valueFrom(() => foreign((_, reject) => reject(new Error('password=x'))), 'secret', 10)
  await expect(failing).rejects.toMatchObject({ message: expect.not.stringContaining('password') })
  await expect(valueFrom(() => foreign(resolve => resolve('x')), 'secret', 10)).resolves.toBe('x')
})

test('the message has the code of a file error, and nothing of other errors', async () => {
  const missing = () => readFileSync('/nao-existe/segredo-canario.pem', 'utf8')
  const message = 'Cannot get the certificate: the function that gives it failed'
  const error = { code: 'MISCONFIGURED' }
  await expect(valueFrom(missing, 'certificate')).rejects.toMatchObject({
    ...error,
    message: `${message}: ENOENT`,
  })
  const quoting = () => {
    throw Object.assign(new Error('segredo-canario'), { code: 'segredo-canario', syscall: 'open' })
  }
  await expect(valueFrom(quoting, 'certificate')).rejects.toMatchObject({ ...error, message })
})

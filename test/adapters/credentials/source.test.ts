import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { valueFrom } from '../../../src/adapters/credentials/source.ts'

const never = () => new Promise<string>(() => undefined)

test('a function that never answers is given up, in words, and one that answers later does no harm', async () => {
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

test('promises of other libraries are waited for no longer, and what they fail with is wrapped', async () => {
  class Foreign {
    readonly settle: (resolve: (text: string) => void, reject: (error: unknown) => void) => void
    constructor(settle: Foreign['settle']) {
      this.settle = settle
    }
    // biome-ignore lint/suspicious/noThenProperty: as libraries make them: awaitable, and no Promise
    then(resolve: (text: string) => void, reject: (error: unknown) => void): void {
      this.settle(resolve, reject)
    }
  }
  const foreign = (settle: Foreign['settle']) => new Foreign(settle) as unknown as Promise<string> // Awaitable.
  await expect(valueFrom(() => foreign(() => undefined), 'secret', 10)).rejects.toMatchObject({
    code: 'MISCONFIGURED',
  })
  const failing = valueFrom(() => foreign((_, reject) => reject(new Error('password=x'))), 'secret', 10)
  await expect(failing).rejects.toMatchObject({ message: expect.not.stringContaining('password') })
  await expect(valueFrom(() => foreign(resolve => resolve('x')), 'secret', 10)).resolves.toBe('x')
})

test('why a file could not be read is said by its code, and what any other error says is not', async () => {
  const missing = () => readFileSync('/nao-existe/segredo-canario.pem', 'utf8')
  const cannot = 'Cannot get the certificate: the function that gives it failed'
  const error = { code: 'MISCONFIGURED' }
  await expect(valueFrom(missing, 'certificate')).rejects.toMatchObject({
    ...error,
    message: `${cannot}: ENOENT`,
  })
  const quoting = () => {
    throw Object.assign(new Error('segredo-canario'), { code: 'segredo-canario', syscall: 'open' })
  }
  await expect(valueFrom(quoting, 'certificate')).rejects.toMatchObject({ ...error, message: cannot })
})

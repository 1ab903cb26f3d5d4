import { expect, test } from 'vitest'
import { valueFrom } from '../../src/adapters/source.ts'

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

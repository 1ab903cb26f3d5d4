import { expect, onTestFinished, test } from 'vitest'
import { openAverba } from '../../src/index.ts'
import { oldNode } from '../../src/vocabulary/node-version.ts'

test('Node is new enough from 22.19 on', () => {
  for (const version of ['22.19.0', '22.20.1', '23.0.0', '24.21.0']) expect(oldNode(version)).toBeUndefined()
  for (const version of ['18.20.0', '20.20.2', '22.18.9'])
    expect(oldNode(version)).toBe(`averba needs Node 22.19 or newer; this is Node ${version}`)
})

test('on an older Node a log is refused in one sentence, before the driver ends the process', async () => {
  const { versions } = process
  const stub = (value: object) => Object.defineProperty(process, 'versions', { value, configurable: true })
  onTestFinished(() => void stub(versions))
  stub({ ...versions, node: '20.20.2' })
  await expect(openAverba({ store: ':memory:' })).rejects.toMatchObject({
    ...{ code: 'MISCONFIGURED', message: 'averba needs Node 22.19 or newer; this is Node 20.20.2' },
  })
})

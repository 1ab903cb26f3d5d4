import { expect, onTestFinished, test } from 'vitest'
import { examine, openAverba } from '../../src/index.ts'
import { simulate, startServices } from '../../src/simulation/index.ts'
import { oldNode } from '../../src/vocabulary/node-version.ts'

test('Node is new enough from 22.19 on', () => {
  for (const version of ['22.19.0', '22.20.1', '23.0.0', '24.21.0']) expect(oldNode(version)).toBeUndefined()
  for (const version of ['18.20.0', '20.20.2', '22.18.9'])
    expect(oldNode(version)).toBe(`averba needs Node 22.19 or newer; this is Node ${version}`)
})

test('on an older Node everything that opens is refused in one sentence, before anything of it breaks', async () => {
  const { versions } = process
  const stub = (value: object) => Object.defineProperty(process, 'versions', { value, configurable: true })
  onTestFinished(() => void stub(versions))
  stub({ ...versions, node: '20.20.2' })
  const message = 'averba needs Node 22.19 or newer; this is Node 20.20.2'
  const refused = { code: 'MISCONFIGURED', message }
  await expect(openAverba({ store: ':memory:' })).rejects.toMatchObject(refused)
  const pool = { connect: () => Promise.reject(new Error('it was asked for a connection')) }
  await expect(openAverba({ store: 'postgres:', pool, keyring: 'a.keys' })).rejects.toMatchObject(refused)
  await expect(simulate()).rejects.toMatchObject(refused)
  await expect(startServices()).rejects.toMatchObject(refused)
  expect((await examine({ store: ':memory:' })).checks).toEqual([{ name: 'configuration', ok: false, detail: message }])
})

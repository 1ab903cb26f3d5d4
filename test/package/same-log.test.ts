import { expect, test } from 'vitest'
import { runForJson, runScript } from '../support/run-script.ts'
import { describeLog } from './print-log.ts'

const abroad = { TZ: 'Asia/Tokyo', LANG: 'pt_BR.UTF-8', LC_ALL: 'pt_BR.UTF-8' }

test('the same seed gives the same log byte for byte, on Node and on Deno, and another seed another log', async () => {
  const script = 'test/package/print-log.ts'
  const elsewhere = Promise.all([runForJson('Node', script, ['1'], abroad), runForJson('Deno', script, ['1'])])
  const [here, ofAnotherSeed] = [await describeLog(1), await describeLog(2, 1)]
  expect(here.events.length).toBeGreaterThan(150)
  expect(here.crashes).toBeGreaterThan(0)
  const typesOf = ({ events }: typeof here) => events.map((event): string => JSON.parse(event).type)
  expect(typesOf(here)).toEqual(
    expect.arrayContaining(['validation.inconclusive', 'token.rejected', 'effect.deferred']),
  )
  for (const there of await elsewhere) {
    // The first event that differs shows where the runs diverge.
    expect(there.events).toEqual(here.events)
    expect(there).toEqual(JSON.parse(JSON.stringify(here)))
  }
  // Random decisions of the first day differ too, not only names.
  expect(typesOf(ofAnotherSeed).slice(0, 60)).not.toEqual(typesOf(here).slice(0, 60))
})

test('a run of the campaign is the same step by step on Node and on Deno', async () => {
  const run = (on: 'Node' | 'Deno') => runScript(on, 'test/campaign/main.ts', ['--seed', '1', '--days', '6'], abroad)
  const [onNode = '', onDeno = ''] = await Promise.all([run('Node'), run('Deno')])
  expect(JSON.parse(onNode.trim().split('\n').at(-1) ?? '')).toMatchObject({ failures: 0 })
  expect(onDeno.split('\n')).toEqual(onNode.split('\n'))
})

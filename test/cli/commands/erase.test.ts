import { expect, test } from 'vitest'
import { checkErasureReceipt, diagnoseStore, openAverba, type SubjectRef } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { averba, averbaWith } from '../../support/command-line.ts'
import { makeSampleStore } from '../../support/sample-store.ts'

const asked = ['--actor', 'agent-7', '--requester', 'pedido-4711', '--legal-basis', 'LGPD art. 18, VI']

test('averba erase reads the CPF from standard input, and prints the receipt again on repeat', async () => {
  const store = await makeSampleStore(2)
  const first = await averbaWith(`${samples.cpf}\n`, 'erase', store, ...asked, '--backups-kept', '7')
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toMatch(/^Erased \w+ at \S+: \d+ parts, 1 key, \d+ index rows?\.\n/)
  expect(first.out).toMatch(/bytes of the file were searched for \d+ pieces: 0 found\.\nUntil \S+ a backup/)
  expect(first.out).toContain('Cancelled')
  expect(first.out).not.toContain(samples.cpf)

  const subject = /^Erased (\w+)/.exec(first.out)?.[1] ?? ''
  const again = await averba('erase', store, '--subject', subject, ...asked, '--json')
  expect(again.code).toBe(0)
  const receipt = JSON.parse(again.out)
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(receipt.subject).toBe(subject)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  const log = await openAverba({ store })
  const [erased] = await Array.fromAsync(log.log.read({ types: ['subject.erased'] }))
  expect(erased?.actor).toEqual({ kind: 'person', ref: 'agent-7' })
  await expect(log.consents.list({ subject: subject as SubjectRef })).rejects.toMatchObject({
    code: 'SUBJECT_ERASED',
  })
  await log.close()
})

test('averba erase refuses a --backups-kept that is not a number, and does not take it for 0', async () => {
  const store = await makeSampleStore(2)
  for (const days of ['', ' ', '7d', '1e3', '-1', '100000']) {
    const refused = await averbaWith(`${samples.cpf}\n`, 'erase', store, ...asked, `--backups-kept=${days}`)
    expect(refused).toMatchObject({ out: '', err: expect.stringContaining('INVALID_INPUT') })
    expect(refused.code).not.toBe(0)
  }
  expect(await diagnoseStore({ store })).toMatchObject({ problems: [], epochs: [1] })
})

test('averba erase repeated with its --keep prints the receipt, and without it erases the rest', async () => {
  const store = await makeSampleStore(2)
  const keep = ['--keep', 'validation.result', '--json']
  const first = JSON.parse((await averbaWith(`${samples.cpf}\n`, 'erase', store, ...asked, ...keep)).out)
  expect(first.keeps).toEqual(['validation.result'])
  const again = [
    'erase',
    store,
    '--subject',
    first.subject,
    '--actor',
    'agent-7',
    '--requester',
    'pedido-4712',
    '--legal-basis',
    'x',
  ]
  expect(JSON.parse((await averba(...again, ...keep)).out)).toEqual(first)
  const last = JSON.parse((await averba(...again, '--json')).out)
  expect(last).toMatchObject({ keeps: [], requester: 'pedido-4712', destroyed: { keys: 1 } })
  const help = (await averba('erase', '--help')).out
  expect(help).toMatch(/the same --keep, the command prints the first\s+receipt again/)
  expect(help).toMatch(/Repeated without that\s+--keep, it erases what was kept/)
})

test('the errors of averba erase hold no personal data', async () => {
  const store = await makeSampleStore(2)
  const runs = await Promise.all([
    averbaWith('52998224725\n', 'erase', store, ...asked),
    averbaWith('12345678900\n', 'erase', store, ...asked),
    averba('erase', store, ...asked),
    averbaWith(`${samples.cpf}\n`, 'erase', `${store}.none`, ...asked),
    averbaWith(
      `${samples.cpf}\n`,
      'erase',
      store,
      '--actor',
      'agent-7',
      '--requester',
      samples.cpf,
      '--legal-basis',
      'x',
    ),
    averbaWith(`${samples.cpf}\n`, 'erase', store, ...asked, '--keep', 'everything'),
  ])
  expect(runs.map(run => [run.code, run.err.split(':')[0]])).toEqual([
    [1, 'NOT_FOUND'],
    [1, 'INVALID_CPF'],
    [1, 'INVALID_INPUT'],
    [1, 'NOT_FOUND'],
    [1, 'PERSONAL_ID'],
    [1, 'INVALID_INPUT'],
  ])
  for (const run of runs) expect(run.err).not.toMatch(/52998224725|12345678900|25774435016/)
})

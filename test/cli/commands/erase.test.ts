import { expect, test } from 'vitest'
import { checkErasureReceipt, diagnoseStore, openAverba, type SubjectRef } from '../../../src/index.ts'
import { samples } from '../../../src/simulation/index.ts'
import { averba, averbaJson, averbaWith, expectFailure } from '../../support/command-line.ts'
import { makeSampleStore } from '../../support/sample-store.ts'

const asked = ['--actor', 'agent-7', '--requester', 'pedido-4711', '--legal-basis', 'LGPD art. 18, VI']

test('averba erase reads the CPF from standard input, and prints the receipt again on repeat', async () => {
  const store = await makeSampleStore(2)
  const first = await averbaWith(`${samples.cpf}\n`, 'erase', '--store', store, ...asked, '--backups-kept', '7')
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toMatch(/^Erased \w+ at \S+: \d+ parts, 1 key, \d+ index rows?\.\n/)
  expect(first.out).toMatch(/bytes of the file were searched for \d+ pieces: 0 found\.\nUntil \S+ a backup/)
  expect(first.out).toContain('Cancelled')
  expect(first.out).not.toContain(samples.cpf)

  const subject = /^Erased (\w+)/.exec(first.out)?.[1] ?? ''
  const receipt = await averbaJson('erase', '--store', store, '--subject', subject, ...asked)
  expect(checkErasureReceipt(receipt)).toEqual([])
  expect(receipt.subject).toBe(subject)
  expect((await diagnoseStore({ store, isDeep: true })).problems).toEqual([])
  const log = await openAverba({ store })
  const [erased] = await Array.fromAsync(log.log.read({ types: ['subject.erased'] }))
  expect(erased?.actor).toEqual({ kind: 'person', ref: 'agent-7' })
  await expect(log.consents.list({ subject: subject as SubjectRef })).rejects.toMatchObject({ code: 'SUBJECT_ERASED' })
  await log.close()
})

test('averba erase refuses a --backups-kept that is not a number, and does not take it for 0', async () => {
  const store = await makeSampleStore(2)
  for (const days of ['', ' ', '7d', '1e3', '-1', '100000']) {
    const refused = averbaWith(`${samples.cpf}\n`, 'erase', '--store', store, ...asked, `--backups-kept=${days}`)
    expect((await expectFailure(refused, 'INVALID_INPUT')).out).toBe('')
  }
  expect(await diagnoseStore({ store })).toMatchObject({ problems: [], epochs: [1] })
})

test('averba erase repeated with its --keep prints the receipt, and without it erases the rest', async () => {
  const store = await makeSampleStore(2)
  const keep = ['--keep', 'validation.result']
  const { out } = await averbaWith(`${samples.cpf}\n`, 'erase', '--store', store, ...asked, ...keep, '--json')
  const first = JSON.parse(out)
  expect(first.keeps).toEqual(['validation.result'])
  const others = '--actor agent-7 --requester pedido-4712 --legal-basis x'.split(' ')
  const again = ['erase', '--store', store, '--subject', first.subject, ...others]
  expect(await averbaJson(...again, ...keep)).toEqual(first)
  expect(await averbaJson(...again)).toMatchObject({ keeps: [], requester: 'pedido-4712', destroyed: { keys: 1 } })
  const help = (await averba('erase', '--help')).out
  expect(help).toMatch(/the same --keep, the command prints the first\s+receipt again/)
  expect(help).toMatch(/Repeated without that\s+--keep, it erases what was kept/)
})

test('the errors of averba erase hold no personal data', async () => {
  const store = await makeSampleStore(2)
  for (const [code, cpf, path, ...more] of [
    ['NOT_FOUND', '52998224725', store],
    ['INVALID_CPF', '12345678900', store],
    ['INVALID_INPUT', '', store],
    ['NOT_FOUND', samples.cpf, `${store}.none`],
    ['PERSONAL_ID', samples.cpf, store, '--requester', samples.cpf],
    ['INVALID_INPUT', samples.cpf, store, '--keep', 'everything'],
  ] as const) {
    const erasing = averbaWith(cpf && `${cpf}\n`, 'erase', '--store', path, ...asked, ...more)
    const { err } = await expectFailure(erasing, new RegExp(`^${code}:`))
    expect(err).not.toMatch(/52998224725|12345678900|25774435016/)
  }
})

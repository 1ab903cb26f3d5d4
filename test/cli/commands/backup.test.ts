import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openAverba } from '../../../src/index.ts'
import { averba, averbaJson, expectFailure, expectOutput } from '../../support/command-line.ts'
import { loseStore } from '../../support/lose-store.ts'
import { makeSampleStore } from '../../support/sample-store.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'

test('the commands report what an operator has to know, as text and as JSON', async () => {
  const store = await makeSampleStore(2)
  const [backup, elsewhere] = [temporaryStore(), temporaryStore()]
  const made = await averba('backup', '--store', store, backup)
  expect(made.out).toMatch(/The keyring is NOT in it: back up \S+log\.sqlite\.keys too/)
  expect(made.out).toMatch(/events up to 2026-11-20T12:00:00\.\d{3}Z/)
  const nowhere = averba('backup', '--store', store, `${backup}.none/x`)
  await expectFailure(nowhere, /\nCheck its name, and that its folder exists\n$/)
  const restored = await averba('restore', backup, elsewhere, '--keys', `${store}.keys`)
  expect(restored.out).toMatch(/Later events are not in it/)
  expect(restored.out).toMatch(
    /WARNING[\s\S]*makes them AGAIN, except unknown and parked ones[\s\S]*1 validationService\.validatePerson, unknown/,
  )
  expect(existsSync(`${elsewhere}.keys`)).toBe(true)
  expect((await averba('doctor', '--store', elsewhere, '--deep')).out).toMatch(/No problems\.\n$/)
  expect((await averbaJson('doctor', '--store', elsewhere)).problems).toEqual([])
  rmSync(`${elsewhere}.keys`)
  const missing = /WRONG:\n {2}keys: the keyring is missing.* --keys on the command line/
  await expectOutput(averba('doctor', '--store', elsewhere), missing, 1)
  // The keyring of a backup is kept apart from it.
  const { keys, problems } = await averbaJson('doctor', '--store', backup, '--keys', `${store}.keys`, '--deep')
  expect([keys.path, problems]).toEqual([`${store}.keys`, []])
  const another = temporaryStore()
  await (await openAverba({ store: another })).close()
  await expectOutput(averba('doctor', '--store', backup, '--keys', `${another}.keys`), 'WRONG:\n  keys: ', 1)
  await expectFailure(averba('doctor', '--store', 'no-such-file'), /^NOT_FOUND: .*\nName the file of a log/)
  const gone = temporaryStore()
  copyFileSync(`${store}.keys`, `${gone}.keys`)
  await expectFailure(averba('doctor', '--store', gone), /^NOT_FOUND: .*\nIts keyring is there: restore a backup/)
})

test('a copy says where the keyring is and what to change, and the former place what still works there', async () => {
  const [store, to] = [await makeSampleStore(1), temporaryStore()]
  const keyring = `Its keyring is ${to}.keys.\nName the new place in each configuration: store. `
  await expectOutput(averba('copy', store, to), keyring)
  const hint = `Use its new place. Of the commands, verify, replay, doctor and backup still work here. If the new place is lost, see averba resume --store ${store}\n`
  await expectFailure(averba('status', '--store', store), hint)
  for (const works of ['replay', 'backup x'])
    await expectOutput(averba(...works.replace('x', `${to}.x`).split(' '), '--store', store), '')
})

test('a restore prints who was erased since the backup, and the command to repeat it', async () => {
  const store = temporaryStore()
  const engine = await openAverba({ store, schedules: false })
  const subject = await engine.consents.enrol({ cpf: '25774435016' })
  expect((await averba('backup', '--store', store, `${store}.backup`)).out).toMatch(/ 2 events up to \S+, 1 part, /)
  const asked = { requester: 'pedido-1', legalBasis: 'LGPD art. 18, VI' }
  const { erasedAt } = await engine.subjects.erase({ subject }, asked)
  await engine.close()
  loseStore(store)
  const { out } = await averba('restore', `${store}.backup`, store, '--accept-rollback')
  expect(out).toMatch(/^Lost, according to the high-water mark: at least [2-9] events\.$/m)
  expect(out).toContain('WARNING: these people were erased after the backup, and are BACK.')
  const again = `averba erase --store ${store} --subject ${subject} --actor <ref> --requester`
  expect(out).toContain(`erased ${erasedAt}: ${again}`)
})

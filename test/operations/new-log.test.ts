import { readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { exportBundle, valueOf, verifyLog } from '../../src/index.ts'
import { temporaryStore } from '../support/temporary-folder.ts'
import { openEngine, openServices } from '../support/world.ts'

test('a new log with its own keyring has what the service shows, and the former one is evidence without its keyring', async () => {
  const services = await openServices()
  const open = async (store: string) => {
    const { consents, close } = await openEngine({ store, ...services.options, schedules: false })
    const subject = await consents.enrol({ cpf: services.samples.cpf })
    valueOf(await consents.sync({ subject }))
    return { consents, close, subject }
  }
  const exported = async (store: string) => {
    const dir = join(dirname(store), 'bundle')
    await exportBundle({ store, dir })
    return { dir, key: readFileSync(join(dir, 'key'), 'utf8').trim() }
  }
  const [former, next] = [temporaryStore(), temporaryStore()]
  const before = await open(former)
  const [active] = await before.consents.list({ subject: before.subject, status: 'ATIVO' })
  valueOf(await before.consents.revoke({ subject: before.subject, id: active?.id ?? '' }))
  await before.close()
  const { dir, key } = await exported(former)
  rmSync(`${former}.keys`)

  const after = await open(next)
  const revoked = await after.consents.list({ subject: after.subject, status: 'REVOGADO' })
  expect(revoked.map(({ id }) => id)).toContain(active?.id)
  expect(await verifyLog({ store: dir, keys: [key], mark: `${former}.mark` })).toMatchObject({
    level: 'held',
    faults: [],
  })
  expect((await exported(next)).key).not.toBe(key)
})

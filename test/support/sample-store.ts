import { copyFileSync } from 'node:fs'
import { valueOf } from '../../src/index.ts'
import { samples, simulate, type World } from '../../src/simulation/index.ts'
import { notify } from './notify.ts'
import { temporaryStore } from './temporary-folder.ts'

/**
 * Makes a closed log with every kind of row: two full subtrees of events, sealed parts, open and ended effects.
 *
 * @param first runs before that in the same world
 */
export async function makeSampleStore(
  notifications = 520,
  first: (world: World, store: string) => Promise<void> = async () => undefined,
): Promise<string> {
  const store = temporaryStore()
  let isLost = false
  const world = await simulate({
    averba: { store, recordKeys: ['validation'] },
    intercept: async (request, forward) => {
      if (isLost && request.url.includes('/validate/')) throw new TypeError('The connection was lost')
      return forward(request)
    },
  })
  const { averba } = world
  await first(world, store)
  const subject = await averba.consents.enrol({ cpf: samples.cpf })
  valueOf(await averba.consents.sync({ subject }))
  valueOf(await averba.validations.validate({ id: 'p1', cpf: samples.cpf, claims: { nome: 'X' } }))
  isLost = true
  await averba.validations.validate({ id: 'p2', cpf: samples.cpf, claims: { nome: 'X' } })
  for (let i = 0; i < notifications; i++) {
    await notify(averba, { i })
    // Every notification gets its own time.
    await world.clock.advance(1)
  }
  await averba.close()
  return store
}

export function copyStore(from: string): string {
  const store = temporaryStore()
  copyFileSync(from, store)
  copyFileSync(`${from}.keys`, `${store}.keys`)
  return store
}

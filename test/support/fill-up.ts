import { expect } from 'vitest'
import type { World } from '../../src/simulation/index.ts'
import { cpfOf } from './cpf-of.ts'

/**
 * Uses up the space that a file has left once its disk is full. A smaller event may fit where a larger one did not, so
 * it goes on until nothing more fits.
 */
export async function fillUp({ averba, digest }: Pick<World, 'averba' | 'digest'>): Promise<void> {
  let n = 1
  for (let before = ''; before !== (await digest()); ) {
    before = await digest()
    const enrol = async () => {
      for (;;) await averba.consents.enrol({ cpf: cpfOf(n++) })
    }
    await expect(enrol()).rejects.toMatchObject({
      code: 'STORE_UNSAFE',
      hint: expect.stringMatching(/^Free some space.*the same command id$/),
    })
  }
}

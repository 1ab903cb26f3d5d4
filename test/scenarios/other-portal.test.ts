import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Averba, openAverba, staticHeaders } from '../../src/index.ts'
import { simulate } from '../../src/simulation/index.ts'

const validation = 'https://val.portal.exemplo.br'
const production = 'https://portal.exemplo.br'

/** Opens one log at whichever portal. */
async function given() {
  const store = join(mkdtempSync(join(tmpdir(), 'averba-portals-')), 'log.sqlite')
  const world = await simulate()
  const open = (baseUrl: string, more: { knownAs?: string; schedules?: boolean } = {}): Promise<Averba> => {
    const { schedules = false, ...moved } = more
    const authenticate = staticHeaders({ authorization: 'sessao-de-exemplo' })
    return openAverba({
      ...{ store, clock: world.clock, schedules, fetch: request => world.reach.portal(request) },
      portal: { baseUrl, authenticate, ...moved },
    })
  }
  return { world, open }
}

test.each([
  ['a plan', (averba: Averba) => averba.subscriptions.plan()],
  ['a reading of failures', async (averba: Averba) => averba.subscriptions.failures()],
  ['the daily reading', (averba: Averba) => averba.settle()],
])(
  'a log that %s has bound to a portal does not open with another one, whose ids are others',
  async (_, ask) => {
    const { world, open } = await given()
    const first = await open(validation, { schedules: true })
    await ask(first)
    await first.close()
    const other = await open(production).catch(error => error)
    expect(other).toMatchObject({
      code: 'MISCONFIGURED',
      message: `Cannot use portal.baseUrl: this log belongs to the portal at "${validation}"`,
      hint: expect.stringContaining('knownAs'),
    })
    // Nothing holds the file, and slashes or capitals make no other portal.
    const again = await open(`${validation.replace('val', 'VAL')}/`)
    await again.subscriptions.plan()
    await again.close()
    const moved = await open(production, { knownAs: validation })
    await moved.subscriptions.plan()
    await moved.close()
    await world.close()
  },
)

test('of two processes that open a log that belongs to none yet, the one with another portal than the first asks nothing', async () => {
  const { world, open } = await given()
  const [one, other] = [await open(validation), await open(production)]
  await one.subscriptions.plan()
  const before = world.requests.length
  const refused = { code: 'MISCONFIGURED', hint: expect.stringContaining('knownAs') }
  await expect(other.subscriptions.plan()).rejects.toMatchObject(refused)
  await expect(Promise.resolve(other.subscriptions.failures())).rejects.toMatchObject(refused)
  expect(world.requests).toHaveLength(before)
  await one.close()
  await other.close()
  await world.close()
})

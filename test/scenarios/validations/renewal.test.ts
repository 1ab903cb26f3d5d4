import { expect, test } from 'vitest'
import { createTokenClient } from '../../../src/adapters/token/client.ts'
import { Tokens } from '../../../src/api/validations/tokens.ts'
import { Engine } from '../../../src/engine/engine.ts'
import type { Events } from '../../../src/index.ts'
import { effectMachine } from '../../../src/machines/effect.ts'
import { tokenMachine } from '../../../src/machines/token.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import type { Fetch } from '../../../src/vocabulary/fetch.ts'
import { openStore } from '../../support/store.ts'

test('a renewal that joins a lookup of the rejected token is still made', async () => {
  const clock = new VirtualClock()
  const store = await openStore<Events>({ clock })
  let issued = 0
  const fetch: Fetch = async () => Response.json({ access_token: `t${++issued}`, expires_in: 3600 })
  const credentials = { consumerKey: 'chave', consumerSecret: 'segredo' }
  const parts = {
    store,
    clock,
    entropy: systemEntropy,
    machines: [effectMachine, tokenMachine],
  }
  const engine = new Engine({ ...parts, onTrouble: () => undefined })
  const url = 'https://gateway.exemplo.br/token'
  const open = () => new Tokens({ engine, store, clock }, { ...credentials, url })
  const { keeper } = open()
  engine.register({ performers: createTokenClient({ ...credentials, clock, fetch, keeper, url }) })
  const held = { status: 'held', value: 't1' }
  expect(await open().current()).toEqual(held)
  // After a restart, one call looks up the token while another learns that it is no longer valid.
  const tokens = open()
  const by = { call: 'validation-1/1/0', code: undefined }
  const [looked, renewed, again] = [tokens.current(), tokens.renew('t1', by), tokens.renew('t1', by)]
  expect(await looked).toEqual(held)
  expect(await renewed).toEqual({ status: 'held', value: 't2' })
  expect(await again).toEqual({ status: 'held', value: 't2' })
  expect(issued).toBe(2)
  await engine.close()
})

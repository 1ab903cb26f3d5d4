import { expect, test } from 'vitest'
import { createTokenClient } from '../../../src/adapters/token/client.ts'
import { Tokens } from '../../../src/api/validations/tokens.ts'
import { Engine } from '../../../src/engine/engine.ts'
import type { Events } from '../../../src/index.ts'
import { effectMachine } from '../../../src/machines/effect.ts'
import { tokenMachine } from '../../../src/machines/token.ts'
import { systemEntropy } from '../../../src/runtime/entropy.ts'
import { VirtualClock } from '../../../src/simulation/index.ts'
import { openStore } from '../../support/store.ts'

test('a renewal that joins a lookup of the rejected token is still made', async () => {
  const clock = new VirtualClock()
  const store = await openStore<Events>({ clock })
  const machines = [effectMachine, tokenMachine]
  const engine = new Engine({ store, clock, entropy: systemEntropy, machines, onTrouble: () => undefined })
  const options = { consumerKey: 'chave', consumerSecret: 'segredo', url: 'https://gateway.exemplo.br/token' }
  const open = () => new Tokens({ engine, store, clock }, options)
  let issued = 0
  const fetch = async () => Response.json({ access_token: `t${++issued}`, expires_in: 3600 })
  engine.register({ performers: createTokenClient({ ...options, clock, fetch, keeper: open().keeper }) })
  const held = { status: 'held', value: 't1' }
  expect(await open().current()).toEqual(held)
  // After a restart, one call looks up the token while another learns that it is no longer valid.
  const tokens = open()
  const by = { call: 'validation-1/1/0', code: undefined }
  const newer = { status: 'held', value: 't2' }
  const found = [tokens.current(), tokens.renew('t1', by), tokens.renew('t1', by)]
  expect(await Promise.all(found)).toEqual([held, newer, newer])
  expect(issued).toBe(2)
  await engine.close()
})

import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { isToken, openValidating, validate } from '../../support/open-validating.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('a token that comes after another process has got a newer one is not kept', async () => {
  const store = temporaryStore()
  const late = Promise.withResolvers<void>()
  const world = await openWorld({
    policies: { tokenService: { reissue: 'revoke' } },
    averba: { store },
    intercept: async (request, forward) => {
      const answer = await forward(request)
      if (isToken(request)) await late.promise
      return answer
    },
  })
  const { clock, reach, tokenService, validationService } = world
  const fetch = (request: Request) =>
    isToken(request) ? reach.tokenService(request) : reach.validationService(request)
  const other = await openValidating({ clock, fetch, store })
  // Its lease is not prolonged.
  const goOn = standStill()
  const first = validate(world.averba, 'a').catch(() => undefined)
  await expect.poll(() => tokenService.requests).toBe(1)
  goOn()
  await passTime({ averba: other, clock }, 2 * minuteMs)
  valueOf(await validate(other, 'b'))
  expect(tokenService.requests).toBe(2)
  late.resolve()
  await world.clock.finish(first)
  const later = await openValidating({ clock, fetch, store })
  valueOf(await validate(later, 'c'))
  expect([tokenService.requests, validationService.refused]).toEqual([2, 0])
})

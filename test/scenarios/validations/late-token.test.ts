import { expect, test } from 'vitest'
import { valueOf } from '../../../src/index.ts'
import { holdingAnswer } from '../../support/answers.ts'
import { isToken, openValidatingBeside, validate } from '../../support/open-validating.ts'
import { minuteMs, passTime } from '../../support/pass-time.ts'
import { standStill } from '../../support/stand-still.ts'
import { temporaryStore } from '../../support/temporary-folder.ts'
import { openWorld } from '../../support/world.ts'

test('a token that comes after another process has got a newer one is not kept', async () => {
  const store = temporaryStore()
  const late = holdingAnswer(isToken)
  const policies = { tokenService: { reissue: 'revoke' } } as const
  const world = await openWorld({ policies, averba: { store }, intercept: late.intercept })
  const { clock, tokenService, validationService } = world
  const other = await openValidatingBeside(world, { store })
  const goOn = standStill()
  const first = validate(world.averba, 'a').catch(() => undefined)
  await late.given
  goOn()
  await passTime({ averba: other, clock }, 2 * minuteMs)
  valueOf(await validate(other, 'b'))
  expect(tokenService.requests).toBe(2)
  late.release()
  await clock.finish(first)
  valueOf(await validate(await openValidatingBeside(world, { store }), 'c'))
  expect([tokenService.requests, validationService.refused]).toEqual([2, 0])
})

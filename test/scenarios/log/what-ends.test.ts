import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Recorded } from '../../../src/index.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { dayMs, minuteMs } from '../../support/pass-time.ts'

/** The event types that the documentation has a host follow. */
function endsOfPage(): Recorded['type'][] {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/consents.md'), 'utf8')
  const lists = [...page.matchAll(/^const end(?:s|ed) = \[(.*)\] as const$/gm)].map(([, list = '']) => list)
  // In the order of the page, whose own test runs them.
  return lists.flatMap(list => list.match(/consent\.\w+/g) ?? []) as Recorded['type'][]
}

test.each(['PENDENTE', 'NEGADO', 'REVOGADO', 'EXPIRADO', 'its expiry', 'no record', 'a lost revocation'] as const)(
  'the documented follower is called when a consent in use ends: %s',
  async how => {
    let isHidden = false
    const { world, subject, consent } = await givenConsent('ATIVO', async (request, forward) => {
      if (request.method === 'PUT') throw new TypeError('reset')
      const response = await forward(request)
      return isHidden && /consentimentos\/\d+$/.test(request.url) ? Response.json([]) : response
    })
    const { averba, clock, consentService, samples } = world
    const called: unknown[] = []
    averba.log.follow('stop-using', endsOfPage(), async event => {
      const now = await averba.consents.of(event)
      if (now?.id === consent.id) called.push(event.type)
    })
    await clock.advance(minuteMs)
    if (how === 'no record') isHidden = true
    else if (how === 'a lost revocation') await averba.consents.revoke({ subject, id: consent.id })
    else if (how === 'its expiry') await clock.advance(366 * dayMs)
    else consentService.change(samples.cpf, consent.id, how)
    await clock.advance(minuteMs)
    await averba.consents.sync({ subject })
    await averba.settle()
    expect(called).toHaveLength(1)
  },
)

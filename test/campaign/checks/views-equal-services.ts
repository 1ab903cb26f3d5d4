import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import type { CreateCheck } from '../check.ts'
import { personOf } from '../people.ts'
import type { SimulatedHost } from '../simulated-host.ts'

const listUrl = 'https://portal.exemplo.br/portal/api/ext/webhook'

/** The engine's consents and subscriptions equal those of the services. */
export const viewsEqualServices: CreateCheck = (simulated, report) => ({
  async end() {
    for (const { person, consents } of simulated.people.all()) {
      const { cpf } = personOf(person)
      const asked = await simulated.host.ask(averba => averba.consents.list({ cpf, vanished: true }), ['NOT_FOUND'])
      if (!asked || 'code' in asked) continue // This person was never enrolled.
      const shown = new Map(asked.value.map(each => [each.id, each]))
      for (const at of consents) {
        const truth = await simulated.people.statusAt(at)
        const found = shown.get(at.id)
        if (found?.status === truth && found.knowledge === 'known') continue
        report(`a consent of person ${person} is ${truth}, but shown as ${found?.status} (${found?.knowledge})`)
      }
    }
    const there = (await activeAtPortal(simulated)).map(each => `${each.id} ${each.evento} ${each.endpoint}`)
    const asked = await simulated.host.ask(averba => averba.views.selectFrom('subscriptions').selectAll().execute())
    const shown = asked && 'value' in asked ? asked.value : []
    const here = shown
      .filter(each => each.state !== 'deleted')
      .map(each => `${each.remote_id} ${each.evento} ${each.endpoint}`)
    if (there.sort().join() !== here.sort().join())
      report(`the portal has ${there.join()}, but the engine shows ${here.join()}`)
  },
})

async function activeAtPortal(
  simulated: SimulatedHost,
): Promise<readonly { id: number; evento: string; endpoint: string }[]> {
  const response = await simulated.services.portal.fetch(new Request(listUrl, { headers: credentials.portalHeaders }))
  return (await response.json()) as { id: number; evento: string; endpoint: string }[] // As the portal writes them.
}

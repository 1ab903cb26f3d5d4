import type { Averba } from '../../../src/averba/averba.ts'
import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import { companies, derivedEvento, eventos, personOf, receiverUrl, subscriptions } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { SimulatedHost } from '../simulated-host.ts'

const base = 'https://portal.exemplo.br/portal/api/ext/webhook'
const headers = { ...credentials.portalHeaders, 'content-type': 'application/json' }

/** Deeds about subscriptions, at the host and at the portal, and about notifications. */
export const perform: Performers<'apply' | 'changeMind' | 'meddle' | 'notify' | 'rotate'> = {
  async apply(simulated, { deletions }) {
    const plan = await simulated.host.askFor(averba => averba.subscriptions.plan(), ['OUTCOME'])
    if (!plan) return
    // After a restore our own newer subscriptions are unknown to us, so they may be taken over.
    const options = { deletions: deletions ? 'allow' : 'refuse', takeOver: simulated.rollbacks > 0 } as const
    await simulated.host.ask(
      averba => averba.subscriptions.apply(plan, options),
      ['OUTCOME', 'STALE_PLAN', 'PLAN_DELETES'],
    )
  },
  async changeMind(simulated, { evento, fault, isTaken }) {
    for (const wanted of [subscriptions.filter((_, i) => i !== evento), subscriptions]) {
      if (isTaken && wanted === subscriptions) await registerAsWeDo(simulated, evento)
      simulated.declaredSubscriptions = wanted
      await simulated.close()
      await simulated.open()
      if (fault) await simulated.services.faults.add(fault)
      const plan = await simulated.host.askFor(averba => averba.subscriptions.plan(), ['OUTCOME'])
      if (!plan) continue
      const apply = (averba: Averba) => averba.subscriptions.apply(plan, { deletions: 'allow' })
      await simulated.host.ask(apply, ['OUTCOME', 'STALE_PLAN'])
    }
  },
  async meddle(simulated, { evento, how }) {
    const listed = await simulated.services.portal.fetch(new Request(base, { headers }))
    const all = (await listed.json()) as { id: number; evento: string; endpoint: string }[] // The simulator's answer.
    const found = all.find(each => each.evento === eventos[evento])
    if (!found) return
    const { id, endpoint } = found
    const change = { id, evento: found.evento, endpoint, chaveSecreta: 'canario-de-outro' }
    const body = JSON.stringify(how === 'change' ? change : { id })
    const method = how === 'change' ? 'PUT' : 'DELETE'
    await simulated.services.portal.fetch(new Request(`${base}/${id}`, { method, headers, body }))
  },
  async rotate(simulated) {
    await simulated.host.ask(averba => averba.subscriptions.rotate(derivedEvento), ['REFUSED', 'OUTCOME', 'NOT_FOUND'])
  },
  async notify(simulated, { id, evento: which, to, count, copies }) {
    const evento = eventos[which] ?? ''
    const isCompany = to < companies.length
    const recipient = isCompany
      ? ({ destinatarioTipo: 'CNPJ', destinatarioId: companies[to] ?? '' } as const)
      : ({ destinatarioTipo: 'CPF', destinatarioId: personOf(to).cpf } as const)
    const send = async (numero: string) => {
      const body = { numero, texto: 'CANARIO CORPO' }
      const delivered = await simulated.services.portal.notify({ evento, ...recipient, body })
      const succeeded = delivered.filter(each => each.isDelivered).length
      simulated.runRecord.notify('sent', {
        number: numero,
        evento,
        cpf: isCompany ? undefined : recipient.destinatarioId,
        delivered: succeeded,
        failed: delivered.length - succeeded,
      })
    }
    const numbers = Array.from({ length: count }, (_, i) => `${id}-${i}`)
    const all = numbers.flatMap(number => Array.from({ length: copies + 1 }, () => number))
    await simulated.open()
    await simulated.waitFor(() => Promise.all(all.map(send)))
  },
}

/** Registers a subscription of ours as another client would, if others can know its secrets. */
async function registerAsWeDo(simulated: SimulatedHost, evento: number): Promise<void> {
  const declared = subscriptions[evento]
  if (declared?.chaveSecreta === undefined) return
  const body = JSON.stringify({ ...declared, endpoint: receiverUrl })
  await simulated.services.portal.fetch(new Request(base, { method: 'POST', headers, body }))
}

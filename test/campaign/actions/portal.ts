import { companies, derivedEvento, eventos, personOf, receiverUrl, subscriptions } from '../people.ts'
import type { Performers } from '../perform.ts'
import { callPortal, listSubscriptions } from '../portal-at-service.ts'

/** Deeds about subscriptions, at the host and at the portal, and about notifications. */
export const portalDeeds = {
  async apply({ host, rollbacks }, { deletions }) {
    const plan = await host.askFor(averba => averba.subscriptions.plan(), ['OUTCOME'])
    if (!plan) return
    // After a restore our own newer subscriptions are unknown to us, so they may be taken over.
    const options = { deletions: deletions ? 'allow' : 'refuse', takeOver: rollbacks > 0 } as const
    await host.ask(averba => averba.subscriptions.apply(plan, options), ['OUTCOME', 'STALE_PLAN', 'PLAN_DELETES'])
  },
  async changeMind(simulated, { evento, fault, isTaken }) {
    const { host, services } = simulated
    for (const wanted of [subscriptions.filter((_, i) => i !== evento), subscriptions]) {
      const declared = subscriptions[evento]
      // As another client would, if others can know the secrets.
      if (isTaken && wanted === subscriptions && declared?.chaveSecreta !== undefined)
        await callPortal(services, 'POST', '', { ...declared, endpoint: receiverUrl })
      simulated.declaredSubscriptions = wanted
      await simulated.reopen()
      if (fault) await services.faults.add(fault)
      const plan = await host.askFor(averba => averba.subscriptions.plan(), ['OUTCOME'])
      if (!plan) continue
      await host.ask(averba => averba.subscriptions.apply(plan, { deletions: 'allow' }), ['OUTCOME', 'STALE_PLAN'])
    }
  },
  async meddle({ services }, { evento: which, how }) {
    const found = (await listSubscriptions(services)).find(each => each.evento === eventos[which])
    if (!found) return
    const { id, evento, endpoint } = found
    if (how === 'delete') await callPortal(services, 'DELETE', `/${id}`, { id })
    else await callPortal(services, 'PUT', `/${id}`, { id, evento, endpoint, chaveSecreta: 'canario-de-outro' })
  },
  async rotate({ host }) {
    await host.ask(averba => averba.subscriptions.rotate(derivedEvento), ['REFUSED', 'OUTCOME', 'NOT_FOUND'])
  },
  async notify(simulated, { id, evento: which, to, count, copies }) {
    const evento = eventos[which] ?? ''
    const company = companies[to]
    const cpf = company === undefined ? personOf(to).cpf : undefined
    const send = async (number: string) => {
      const delivered = await simulated.services.portal.notify({
        ...{ evento, destinatarioTipo: cpf === undefined ? 'CNPJ' : 'CPF', destinatarioId: cpf ?? company ?? '' },
        body: { numero: number, texto: 'CANARIO CORPO' },
      })
      const succeeded = delivered.filter(each => each.isDelivered).length
      const failed = delivered.length - succeeded
      simulated.runRecord.notify('sent', { number, cpf, delivered: succeeded, failed })
    }
    const numbers = Array.from({ length: count }, (_, i) => Array.from({ length: copies + 1 }, () => `${id}-${i}`))
    await simulated.open()
    await simulated.waitFor(() => Promise.all(numbers.flat().map(send)))
  },
} satisfies Partial<Performers>

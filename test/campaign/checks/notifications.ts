import { dayMs } from '../../../src/vocabulary/instant.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { Checks } from '../check.ts'
import { subscriptions } from '../people.ts'
import { listSubscriptions } from '../portal-at-service.ts'

/** The portal keeps failure records for thirty days, and a restored engine may need some days to reach it. */
const retentionMs = 23 * dayMs

export const notificationChecks: Checks = {
  /**
   * Every delivered notification is in the inbox, every failed one was recovered, each failure record at most once, and
   * the handlers were called for all of them that no operator gave up.
   */
  'in-the-inbox': (simulated, report) => {
    const delivered = new Map<string, { readonly at: number; readonly cpf: string | undefined }>()
    const failed: typeof delivered = new Map()
    const handled = new Set<string>()
    const recovered = new Map<string, number>()
    return {
      sent({ number, cpf, ...counts }) {
        if (counts.delivered > 0) delivered.set(number, { at: simulated.clock.now(), cpf })
        if (counts.failed > 0) failed.set(number, { at: simulated.clock.now(), cpf })
      },
      erased(cpf) {
        for (const sent of [delivered, failed])
          for (const [number, each] of sent) if (each.cpf === cpf) sent.delete(number)
      },
      rolledBack(to) {
        // The portal does not repeat what was delivered since the backup.
        for (const [number, { at }] of delivered) if (at >= to.at) delivered.delete(number)
        // The restored log may lack recovered notifications whose failure records no longer exist.
        const keptSince = simulated.clock.now() - retentionMs
        for (const [number, { at }] of failed) if (at < keptSince) failed.delete(number)
        for (const [record, position] of recovered) if (position > to.position) recovered.delete(record)
      },
      handled: number => void handled.add(number),
      recorded({ type, data, stream, position }) {
        if (type !== 'subscription.failureRecovered') return
        const record = `${stream} ${(data as { failure: string }).failure}` // As the machine writes it.
        if (recovered.has(record)) report(`the failure ${record} was recovered twice`)
        recovered.set(record, position)
      },
      async end() {
        const inbox = new Set<string>()
        const asked = await simulated.host.ask(async averba => {
          for await (const { body, handlers } of averba.notifications.list()) {
            if (body === null) continue
            const { numero } = body as { numero: string } // The body that a run sends.
            inbox.add(numero)
            if (handlers.some(({ state }) => state === 'skipped')) handled.add(numero)
          }
        })
        if (!asked) report('the inbox cannot be read')
        for (const number of delivered.keys())
          if (!inbox.has(number)) report(`${number} was delivered, but is not in the inbox`)
        for (const number of failed.keys()) if (!inbox.has(number)) report(`${number} failed, but was not recovered`)
        for (const number of inbox) if (!handled.has(number)) report(`${number} is in the inbox, but was not handled`)
      },
    }
  },

  /** The receiver accepts notifications with the right secrets and refuses the others. */
  'secrets-compared': ({ runRecord }, report) => ({
    received({ headers }, { status }) {
      const declared = subscriptions.find(each => each.evento === headers.get('event-type'))
      if (declared?.chaveSecreta === undefined) return // A derived secret is unknown here.
      const isRight =
        headers.get('secret') === declared.chaveSecreta &&
        headers.get('authorization') === (declared.chaveAutenticacao ?? null)
      if (isRight && (status === 401 || status === 403))
        report(`a delivery with the right secrets was answered ${status}`)
      if (!isRight && status < 300) report('a delivery with wrong secrets was accepted')
      if (!isRight) runRecord.markReached('wrong secrets refused')
    },
  }),

  /** Every subscription of ours that was deleted at the portal has an event about the deletion. */
  'deletions-announced': ({ services, runRecord }, report) => ({
    async end() {
      const registered = registeredIds(runRecord.log)
      for (const { id, dataExclusao } of await listSubscriptions(services, '?exibirInativos=true'))
        if (dataExclusao !== null && registered.has(id))
          report(`the subscription ${id} is deleted, but there is no event`)
    },
  }),
}

/** The subscriptions that are registered according to the log, by their ids at the portal. */
function registeredIds(log: readonly RecordedEvent[]): ReadonlySet<number> {
  const streams = new Map<number, string>()
  for (const { type, stream, data } of log) {
    if (type === 'subscription.registered')
      streams.set((data as { remoteId: number }).remoteId, stream) // As the machine writes it.
    else if (type === 'subscription.deleted') {
      const remoteId = [...streams].findLast(([, name]) => name === stream)?.[0]
      if (remoteId !== undefined) streams.delete(remoteId)
    }
  }
  return new Set(streams.keys())
}

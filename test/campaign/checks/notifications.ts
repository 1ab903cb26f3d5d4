import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import type { RecordedEvent } from '../../../src/vocabulary/message.ts'
import type { CreateCheck } from '../check.ts'
import { subscriptions } from '../people.ts'

/** The portal keeps failure records for thirty days, and a restored engine may need some days to reach it. */
const retentionMs = 23 * 86_400_000

/**
 * Every delivered notification is in the inbox, every failed one was recovered, each failure record at most once, and the
 * handlers were called for all of them.
 */
export const inTheInbox: CreateCheck = (simulated, report) => {
  const delivered = new Map<string, { readonly at: number; readonly cpf: string | undefined }>()
  const failed = new Map<string, { readonly at: number; readonly cpf: string | undefined }>()
  const handled = new Set<string>()
  /** The log positions of the recoveries. */
  const recovered = new Map<string, number>()
  return {
    sent({ number, cpf, delivered: taken, failed: lost }) {
      if (taken > 0) delivered.set(number, { at: simulated.clock.now(), cpf })
      if (lost > 0) failed.set(number, { at: simulated.clock.now(), cpf })
    },
    erased(cpf) {
      for (const [number, each] of delivered) if (each.cpf === cpf) delivered.delete(number)
      for (const [number, each] of failed) if (each.cpf === cpf) failed.delete(number)
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
        for await (const { body } of averba.notifications.list()) if (body !== null) inbox.add(numberOf(body))
      })
      if (!asked) report('the inbox cannot be read')
      for (const number of delivered.keys())
        if (!inbox.has(number)) report(`${number} was delivered, but is not in the inbox`)
      for (const number of failed.keys()) if (!inbox.has(number)) report(`${number} failed, but was not recovered`)
      for (const number of inbox) if (!handled.has(number)) report(`${number} is in the inbox, but was not handled`)
    },
  }
}

function numberOf(body: unknown): string {
  return (body as { numero: string }).numero // The body that a run sends.
}

/** The receiver accepts notifications with the right secrets and refuses the others. */
export const secretsCompared: CreateCheck = (simulated, report) => ({
  received({ headers }, { status }) {
    const declared = subscriptions.find(each => each.evento === headers.get('event-type'))
    if (declared?.chaveSecreta === undefined) return // A derived secret is unknown here.
    const isRight =
      headers.get('secret') === declared.chaveSecreta &&
      headers.get('authorization') === (declared.chaveAutenticacao ?? null)
    if (isRight && (status === 401 || status === 403))
      report(`a delivery with the right secrets was answered ${status}`)
    if (!isRight && status < 300) report('a delivery with wrong secrets was accepted')
    if (!isRight) simulated.runRecord.markReached('wrong secrets refused')
  },
})

const listUrl = 'https://portal.exemplo.br/portal/api/ext/webhook?exibirInativos=true'

/** Every subscription of ours that was deleted at the portal has an event about the deletion. */
export const deletionsAnnounced: CreateCheck = (simulated, report) => {
  const events: RecordedEvent[] = []
  return {
    rolledBack(to) {
      events.splice(events.findLastIndex(({ position }) => position <= to.position) + 1)
    },
    recorded(event) {
      if (event.type === 'subscription.registered' || event.type === 'subscription.deleted') events.push(event)
    },
    async end() {
      const streams = registeredStreams(events)
      const request = new Request(listUrl, { headers: credentials.portalHeaders })
      const response = await simulated.services.portal.fetch(request)
      const all = (await response.json()) as { id: number; dataExclusao: string | null }[] // As the portal writes them.
      for (const { id, dataExclusao } of all) {
        if (dataExclusao !== null && streams.has(id)) report(`the subscription ${id} is deleted, but there is no event`)
      }
    },
  }
}

/** The streams of the subscriptions that are registered according to the log, by their id at the portal. */
function registeredStreams(events: readonly RecordedEvent[]): ReadonlyMap<number, string> {
  const streams = new Map<number, string>()
  for (const { type, stream, data } of events) {
    if (type === 'subscription.registered') {
      streams.set((data as { remoteId: number }).remoteId, stream) // As the machine writes it.
    } else {
      const remoteId = [...streams].findLast(([, name]) => name === stream)?.[0]
      if (remoteId !== undefined) streams.delete(remoteId)
    }
  }
  return streams
}

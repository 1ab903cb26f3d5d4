import type { MakeCheck } from '../check.ts'

/** The portal keeps failures for thirty days, and a restored engine may take some to get through to it. */
const keptMs = 23 * 86_400_000

/**
 * What the portal counts as delivered is in the inbox, what failed was recovered, each failure record at most once, and
 * the handlers were called for all of it.
 */
export const inTheInbox: MakeCheck = (box, say) => {
  const delivered = new Map<string, { readonly at: number; readonly cpf: string | undefined }>()
  const failed = new Map<string, { readonly at: number; readonly cpf: string | undefined }>()
  const handled = new Set<string>()
  /** At which positions of the log. */
  const recovered = new Map<string, number>()
  return {
    sent({ number, cpf, delivered: taken, failed: lost }) {
      if (taken > 0) delivered.set(number, { at: box.clock.now(), cpf })
      if (lost > 0) failed.set(number, { at: box.clock.now(), cpf })
    },
    erased(cpf) {
      for (const [number, each] of delivered) if (each.cpf === cpf) delivered.delete(number)
      for (const [number, each] of failed) if (each.cpf === cpf) failed.delete(number)
    },
    rolledBack(to) {
      // The portal has its answer: what came since the backup comes from nowhere again.
      for (const [number, { at }] of delivered) if (at >= to.at) delivered.delete(number)
      // What was recovered once may be with nobody now.
      const keptSince = box.clock.now() - keptMs
      for (const [number, { at }] of failed) if (at < keptSince) failed.delete(number)
      for (const [record, position] of recovered) if (position > to.position) recovered.delete(record)
    },
    handled: number => void handled.add(number),
    recorded({ type, data, stream, position }) {
      if (type !== 'subscription.failureRecovered') return
      const record = `${stream} ${(data as { failure: string }).failure}` // As the machine writes it.
      if (recovered.has(record)) say(`the failure ${record} was recovered twice`)
      recovered.set(record, position)
    },
    async end() {
      const inbox = new Set<string>()
      const asked = await box.host.ask(async averba => {
        for await (const { body } of averba.notifications.list()) if (body !== null) inbox.add(numberIn(body))
      })
      if (!asked) say('the inbox cannot be read')
      for (const number of delivered.keys())
        if (!inbox.has(number)) say(`${number} was delivered, and is in no inbox`)
      for (const number of failed.keys())
        if (!inbox.has(number)) say(`${number} failed, and was not recovered`)
      for (const number of inbox)
        if (!handled.has(number)) say(`${number} is in the inbox, and was not handled`)
    },
  }
}

function numberIn(body: unknown): string {
  return (body as { numero: string }).numero // As the portal of a run makes them.
}

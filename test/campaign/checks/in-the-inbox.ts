import type { MakeCheck } from '../check.ts'

/**
 * What the portal counts as delivered is in the inbox, what failed was recovered, each failure record at most once, and
 * the handlers were called for all of it.
 */
export const inTheInbox: MakeCheck = (box, say) => {
  const delivered = new Set<string>()
  const failed = new Set<string>()
  const handled = new Set<string>()
  const recovered = new Set<string>()
  return {
    sent({ number, delivered: taken, failed: lost }) {
      if (taken > 0) delivered.add(number)
      if (lost > 0) failed.add(number)
    },
    handled: number => void handled.add(number),
    recorded({ type, data, stream }) {
      if (type !== 'subscription.failureRecovered') return
      const record = `${stream} ${(data as { failure: string }).failure}` // As the machine writes it.
      if (recovered.has(record)) say(`the failure ${record} was recovered twice`)
      recovered.add(record)
    },
    async end() {
      const inbox = new Set<string>()
      const asked = await box.host.ask(async averba => {
        for await (const { body } of averba.notifications.list()) inbox.add(numberIn(body))
      })
      if (!asked) say('the inbox cannot be read')
      for (const number of delivered)
        if (!inbox.has(number)) say(`${number} was delivered, and is in no inbox`)
      for (const number of failed) if (!inbox.has(number)) say(`${number} failed, and was not recovered`)
      for (const number of inbox)
        if (!handled.has(number)) say(`${number} is in the inbox, and was not handled`)
    },
  }
}

function numberIn(body: unknown): string {
  return (body as { numero: string }).numero // As the portal of a run makes them.
}

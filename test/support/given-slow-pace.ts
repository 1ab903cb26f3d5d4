import { answering, busy } from './answers.ts'
import { hourMs, minuteMs } from './pass-time.ts'
import { consentServiceWith, openWorld } from './world.ts'

/** A consent service with one call a minute, and due readings under these command ids, which were postponed once. */
export async function givenSlowPace(...commandIds: string[]) {
  let isReady = false
  const world = await openWorld({
    averba: { consentService: consentServiceWith({ requestsPerSecond: 1 / 60 }) },
    intercept: answering(
      () => !isReady,
      () => busy(),
    ),
  })
  const subject = await world.averba.consents.enrol({ cpf: world.samples.cpf })
  const read = (commandId: string, waitMs?: number) =>
    world.averba.consents.sync({ subject }, { commandId, ...(waitMs !== undefined && { waitMs }) })
  for (const id of commandIds) {
    await read(id)
    await world.clock.advance(minuteMs)
  }
  isReady = true
  await world.clock.advance(hourMs)
  return { world, read }
}

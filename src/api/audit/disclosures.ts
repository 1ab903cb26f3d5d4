import { discloseEvent, findDisclosable } from '../../store/checkpoints/disclose.ts'
import type { WhichEvent } from '../../store/checkpoints/prove.ts'
import type { Actor } from '../../vocabulary/message.ts'
import type { Area } from '../area.ts'
import { checkAsking, recordReveal } from '../subjects/reveals.ts'

/** Who gives a record away, and what for: both are kept in clear. */
export interface DiscloseOptions {
  readonly actor: Actor
  readonly purpose: string
}

/** Records that what an event holds is given away, and then writes it with its proof and the keys of its record. */
export async function disclose(area: Area, which: WhichEvent, asking: DiscloseOptions): Promise<string> {
  checkAsking(asking)
  const { store } = area
  const { parts, owners } = await store.reader.read(() => findDisclosable(which))
  const { actor, purpose } = asking
  await recordReveal(area, 'audit.disclose', { parts, owners, purpose, isDisclosed: true }, actor)
  await store.checkpoint()
  const { keyring } = store.vault
  return keyring.whenRefreshed(() => store.reader.read(() => discloseEvent(store.vault, which)))
}

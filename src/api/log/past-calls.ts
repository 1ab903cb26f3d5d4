import { type EffectState, openStates, type PendingEffect } from '../../vocabulary/message.ts'
import { parseEffectId } from '../../vocabulary/names.ts'
import { readEvents } from '../api-context.ts'
import type { LogStore, Recorded } from '../events.ts'

/** Rebuilds the calls of some states, or all, from the events up to a position, in the order of the ledger. */
export async function readPastCalls(
  store: Pick<LogStore, 'read'>,
  until: number,
  states?: readonly EffectState[],
): Promise<PendingEffect[]> {
  const isWanted = ({ state }: PendingEffect) => states?.includes(state) ?? true
  const open = new Map<string, PendingEffect>()
  const ended: PendingEffect[] = []
  for await (const event of readEvents(store, {})) {
    if (event.position > until) break
    ended.push(...applyEvent(open, event).filter(isWanted))
  }
  const nOf = ({ id }: PendingEffect) => parseEffectId(id)[2]
  const all = [...ended, ...open.values()].filter(isWanted).sort((a, b) => a.position - b.position || nOf(a) - nOf(b))
  return states?.every(state => !openStates.includes(state)) ? all.reverse() : all
}

/** Does to the open calls what the ledger did to them, in its order, and returns those that ended. */
function applyEvent(open: Map<string, PendingEffect>, event: Recorded): PendingEffect[] {
  const { stream, position, at, effects = [], settles, moves, resolves, cancels = [] } = event
  const ended: PendingEffect[] = []
  const change = (effect: string | undefined, to: Partial<PendingEffect>) => {
    const found = open.get(effect ?? '')
    if (!found) return
    const { dueAt: _, ...rest } = found
    const call = { ...rest, ...to }
    if (openStates.includes(call.state)) open.set(call.id, call)
    else if (open.delete(call.id)) ended.push(call)
  }
  const end = (effect: string | undefined, state: EffectState, reason: string) =>
    change(effect, { state, reason, settledAt: position })
  if (settles) end(settles.effect, settles.as, `recorded by ${event.type}`)
  if (moves) {
    // The data of an event that moves a call: what it lacks begins anew.
    const { attempts = 0, reason = '', dueAt }: Partial<PendingEffect> = Object(event.data)
    const due = moves.to === 'pending' ? at : dueAt
    change(moves.effect, { state: moves.to, attempts, reason, ...(due !== undefined && { dueAt: due }) })
  }
  for (const [n, { type, data, dueAt = at, reason = '' }] of effects.entries()) {
    const call = `${event.id}/${n}`
    open.set(call, { id: call, stream, position, type, data, dueAt, reason, state: 'pending', attempts: 0 })
  }
  for (const effect of cancels) end(effect, 'cancelled', `cancelled by ${event.type}`)
  if (resolves) {
    const isMeant = (each: PendingEffect) => each.stream === stream && each.type === resolves.effect
    const doubtful = [...open.values()].filter(each => each.state === 'unknown' && isMeant(each))
    const [last] = doubtful.sort((a, b) => (b.settledAt ?? 0) - (a.settledAt ?? 0))
    end(last?.id, resolves.as, 'it was found out')
  }
  return ended
}

import { AverbaError } from '../../vocabulary/errors.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import type { Schema } from '../database/schema.ts'
import { readHeader } from '../log/header.ts'
import type { Schemas } from '../log/upcasters.ts'

/** An effect with the stream that owes it. */
export type EffectRow = Schema['effect'] & {
  readonly version: number
  readonly header: string
  readonly name: string
}

/** What the id of an effect is made of. */
export type EffectIdParts = Pick<EffectRow, 'name' | 'version' | 'n'>

/** The id of an effect. */
export function idOf({ name, version, n }: EffectIdParts): string {
  return `${name}/${version}/${n}`
}

/** Makes an effect of its row; of one whose event is damaged, what the ledger has by itself. */
export function toPendingOrDamaged(row: EffectRow, schemas: Schemas): PendingEffect {
  try {
    return toPendingEffect(row, schemas)
  } catch (error) {
    if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') throw error
    return { ...inLedger(row), data: {}, isDamaged: true }
  }
}

/** Makes an effect of its row. Addresses that begin with `./` are those of the event's own parts. */
export function toPendingEffect(row: EffectRow, schemas: Schemas): PendingEffect {
  const event = readHeader(row.header, schemas)
  const { data = {}, opens = {} } = event.effects?.[row.n] ?? {}
  const addresses = Object.entries(opens).map(([name, address]) => {
    return [name, address.startsWith('./') ? `${event.id}/${address.slice(2)}` : address]
  })
  return { ...inLedger(row), data, opens: Object.fromEntries(addresses) }
}

function inLedger(row: EffectRow): Omit<PendingEffect, 'data'> {
  return {
    id: idOf(row),
    type: row.type,
    stream: row.name,
    position: row.position,
    state: row.state,
    dueAt: row.due_at,
    attempts: row.attempts,
    reason: row.reason,
    ...(row.settled_at !== null && { settledAt: row.settled_at }),
  }
}

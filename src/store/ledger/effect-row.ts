import { AverbaError } from '../../vocabulary/errors.ts'
import type { PendingEffect } from '../../vocabulary/message.ts'
import type { Schema } from '../database/schema.ts'
import { readHeader } from '../log/header.ts'
import type { Schemas } from '../log/upcasters.ts'

/** A row of the ledger with the header, version and stream of its event. */
export type EffectRow = Schema['effect'] & {
  readonly version: number
  readonly header: string
  readonly name: string
}

/** The components of an effect's id. */
export type EffectIdParts = Pick<EffectRow, 'name' | 'version' | 'n'>

/** Formats the id of an effect. */
export function effectIdOf({ name, version, n }: EffectIdParts): string {
  return `${name}/${version}/${n}`
}

/** Builds an effect from its row. When its event is damaged, it has only the columns of the ledger. */
export function toPendingOrDamaged(row: EffectRow, schemas: Schemas): PendingEffect {
  try {
    return toPendingEffect(row, schemas)
  } catch (error) {
    if (!(error instanceof AverbaError) || error.code !== 'CORRUPT') throw error
    return { ...ledgerFields(row), data: {}, isDamaged: true }
  }
}

/** Builds an effect from its row. Addresses that begin with `./` name parts of the effect's own event. */
export function toPendingEffect(row: EffectRow, schemas: Schemas): PendingEffect {
  const event = readHeader(row.header, schemas)
  const { data = {}, opens = {} } = event.effects?.[row.n] ?? {}
  const addresses = Object.entries(opens).map(([name, address]) => {
    return [name, address.startsWith('./') ? `${event.id}/${address.slice(2)}` : address]
  })
  return { ...ledgerFields(row), data, opens: Object.fromEntries(addresses) }
}

function ledgerFields(row: EffectRow): Omit<PendingEffect, 'data'> {
  return {
    id: effectIdOf(row),
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

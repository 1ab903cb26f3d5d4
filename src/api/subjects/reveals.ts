import type { RevealedParts } from '../../machines/reveal.ts'
import { findPartOwner } from '../../store/parts/parts.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Actor, Json, PartAddress } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { checkActor, checkBasis } from '../arguments.ts'

/** A row with its sealed columns opened; null for destroyed values. */
export type RevealedRow<R> = { readonly [K in keyof R]: R[K] | Json }

/** Opens sealed data, with a record of who asked. */
export interface Reveals {
  /**
   * Returns a copy of a row of `views` with its sealed columns opened, destroyed ones as null. An event with the actor
   * and the purpose is recorded before.
   *
   * @throws {AverbaError} `INVALID_INPUT` without an actor, a purpose or a sealed column; `PERSONAL_ID`
   */
  reveal<R extends object>(row: R, options: { actor: Actor; purpose: string }): Promise<RevealedRow<R>>
}

const sealedColumnsMax = 100
const partAddress = /^[a-z]+-[^/]+\/\d+\/[^/]+$/

export function createReveals(context: ApiContext): Reveals {
  const { engine, store } = context
  /** The sealed columns with their owners, by the log and not by their form. */
  async function findSealedColumns(row: object): Promise<{ column: string; address: PartAddress; owner: string }[]> {
    const sealed = []
    for (const [column, cell] of Object.entries(row)) {
      const isAddress = typeof cell === 'string' && cell.length <= 500 && partAddress.test(cell)
      const owner = isAddress ? await store.database.read(() => findPartOwner(store.headers, cell)) : undefined
      if (owner !== undefined) sealed.push({ column, address: String(cell), owner })
    }
    return sealed
  }

  return {
    reveal: async (row, { actor, purpose }) =>
      engine.admit(async () => {
        checkRevealRequest({ actor, purpose })
        const sealed = await findSealedColumns(row)
        if (sealed.length === 0 || sealed.length > sealedColumnsMax)
          throw invalidReveal('Give an unchanged row of a view that has sealed columns')
        const parts = sealed.map(each => each.address)
        const owners = [...new Set(sealed.map(each => each.owner))]
        await recordReveal(context, 'subjects.reveal', { parts, owners, purpose }, actor)
        const opened: Record<string, Json> = {}
        for (const { column, address } of sealed) opened[column] = (await store.open(address)) ?? null
        return { ...row, ...opened }
      }),
  }
}

/** Checks the actor and the purpose of a request for sealed data. Throws `INVALID_INPUT`, `PERSONAL_ID`. */
export function checkRevealRequest({ actor, purpose }: { actor?: Actor; purpose: string } = { purpose: '' }): void {
  if (typeof actor !== 'object' || actor === null)
    throw invalidReveal("Give the actor, such as { kind: 'person', ref: 'agent-7' }")
  checkActor(actor)
  checkBasis({ purpose, legalBasis: 'none' })
}

export async function recordReveal(
  { commands, createId }: ApiContext,
  method: string,
  revealed: RevealedParts,
  actor: Actor,
): Promise<void> {
  const { parts, purpose } = revealed
  const stream = streamOf('reveal', createId())
  await commands.record(
    { method, parts, purpose },
    async () => ({ targets: [{ stream, message: { type: 'reveal.record', data: revealed }, isNew: true }] }),
    { actor },
  )
}

function invalidReveal(hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot reveal: nothing is sealed, or the actor is missing', { hint })
}

import type { RevealedParts } from '../../machines/reveal.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Actor, Json, PartAddress } from '../../vocabulary/message.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { checkActor, checkBasis } from '../arguments.ts'

/** A row with what was sealed in its place; null for what was destroyed. */
export type RevealedRow<R> = { readonly [K in keyof R]: R[K] | Json }

/** Openings of what is sealed, on record. */
export interface Reveals {
  /**
   * Opens the sealed columns of a row of `views`, and gives a copy of the row that holds what was sealed. Who asked and
   * what for is an event before anything is opened; what was destroyed is null.
   *
   * @throws {AverbaError} `INVALID_INPUT` without an actor or a purpose, or when nothing in the row is sealed;
   * `PERSONAL_ID`
   */
  reveal<R extends object>(row: R, options: { actor: Actor; purpose: string }): Promise<RevealedRow<R>>
}

/** How many columns of one row may be sealed. */
const partsMax = 100

/** Makes the reveals of the area `subjects`. */
export function createReveals(context: ApiContext): Reveals {
  const { engine, store } = context
  /** The columns that are sealed, with their owners, by the log and not by how they look. */
  async function sealedIn(row: object): Promise<{ column: string; address: PartAddress; owner: string }[]> {
    const sealed = []
    for (const [column, cell] of Object.entries(row)) {
      const owner = isAddress(cell) ? await store.owners.ownerOf(cell) : undefined
      if (owner !== undefined) sealed.push({ column, address: String(cell), owner })
    }
    return sealed
  }

  async function reveal<R extends object>(
    row: R,
    { actor, purpose }: { actor: Actor; purpose: string },
  ): Promise<RevealedRow<R>> {
    checkAsking({ actor, purpose })
    const sealed = await sealedIn(row)
    if (sealed.length === 0 || sealed.length > partsMax) throw invalid('Give a row of a view as it was read')
    const parts = sealed.map(each => each.address)
    const owners = [...new Set(sealed.map(each => each.owner))]
    await recordReveal(context, 'subjects.reveal', { parts, owners, purpose }, actor)
    const opened: Record<string, Json> = {}
    for (const { column, address } of sealed) opened[column] = (await store.open(address)) ?? null
    return { ...row, ...opened }
  }

  return { reveal: (row, options) => engine.admit(() => reveal(row, options)) }
}

/**
 * Checks who asks for what is sealed, and what for.
 *
 * @throws {AverbaError} `INVALID_INPUT`, `PERSONAL_ID`
 */
export function checkAsking({ actor, purpose }: { actor: Actor; purpose: string }): void {
  if (typeof actor !== 'object' || actor === null) throw invalid('Give the actor that it is opened for')
  checkActor(actor)
  checkBasis({ purpose, legalBasis: 'none' })
}

/** Records that parts are opened, before any is. */
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

function isAddress(cell: unknown): cell is PartAddress {
  return typeof cell === 'string' && cell.length <= 500 && /^[a-z]+-[^/]+\/\d+\/[^/]+$/.test(cell)
}

function invalid(hint: string): AverbaError {
  return new AverbaError('INVALID_INPUT', 'Cannot reveal anything: nothing of it is sealed, or nobody asks', {
    hint,
  })
}

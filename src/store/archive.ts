import { rmSync } from 'node:fs'
import type { Entropy } from '../clock.ts'
import { AverbaError } from '../errors.ts'
import type { Instant } from '../message.ts'
import { archivedType, logStream, restoredType } from '../proof/log-stream.ts'
import { checkMark, type PlacedPart, readBundle, writeBundle } from './bundle.ts'
import { rows, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'
import { logEvent } from './log-event.ts'
import { type PartsBack, type PartsMoved, type PartsNamed, readOut } from './moved-parts.ts'
import { writeNewFile } from './new-file.ts'
import { positionBefore } from './position-before.ts'
import { type Place, placeOf, present, type Relocation, returnable } from './relocation.ts'
import { Snapshot } from './snapshot.ts'
import type { Store } from './store.ts'
import { readFacts } from './store-facts.ts'

/** Which parts to move out, and where to. */
export interface ArchiveOptions {
  /** The path of the store, and the same store, open. */
  readonly path: string
  readonly store: Store
  /** Only parts of events recorded before it. */
  readonly before: Instant
  /** The path of the bundle. Nothing may be there. */
  readonly to: string
  /** When the move is recorded. */
  readonly at: Instant
  readonly entropy: Entropy
  /** Parts that stay, however old: something later opens them again. */
  readonly stays: (part: Pick<PartRow, 'stream' | 'type' | 'name' | 'position' | 'header'>) => boolean
}

/**
 * How many parts one event names, and how many bytes of them are held: the event's header stays a few kilobytes long.
 */
const batchParts = 500
const batchBytes = 4 * 1024 ** 2
/** Parts are held a few at a time: they may be large. */
const pageParts = 20

/**
 * Moves old parts out to a bundle: written, made durable and compared with the headers first. Then they are deleted, a
 * few at a time, each in the transaction of the event that names it. A crash between leaves parts that are in both
 * places, which harms nothing: no event names them. Parts that an effect still has to open stay.
 *
 * @returns how many parts of the bundle moved, which others may move at the same time; `undefined`, and no bundle is
 * left, when it is none
 * @throws {AverbaError} `INVALID_INPUT` when something is at the path, `STORE_UNSAFE`, `STORE_BUSY`, `CORRUPT`
 */
export async function moveOut(options: ArchiveOptions): Promise<PartsMoved | undefined> {
  const { path, before, to, entropy } = options
  const snapshot = await Snapshot.open(path)
  let moved: PartsMoved
  try {
    const selected = select(snapshot, options)
    if (selected.next().done) return undefined
    const { origin, keyring } = snapshot.run(readFacts)
    const header = { format: 'averba parts 1', origin, keyring, before } as const
    moved = await writeNewFile(to, entropy, async temporary => {
      const written = writeBundle(temporary, header, select(snapshot, options))
      const read = await readBundle(temporary, part => snapshot.run(() => checkMark(part)))
      if (read.bundle === written.bundle) return written
      throw new AverbaError('STORE_UNSAFE', `Cannot write "${to}": what is there is not what was written`)
    })
  } finally {
    snapshot.close()
  }
  const { bundle } = moved
  let count = 0
  await inBatches(to, async batch => {
    count += await takeOut(options, bundle, batch)
  })
  if (count > 0) return { ...moved, count }
  // Another process moved every part of it first: no event names this bundle, so nothing could be restored from it.
  rmSync(to)
  return undefined
}

/** Names the given parts that are still there in an event, deletes them with it, and gives their number. */
async function takeOut(
  { store, at }: ArchiveOptions,
  bundle: string,
  batch: readonly Place[],
): Promise<number> {
  for (;;) {
    const out = await store.reader.read(() => present(batch))
    if (out.length === 0) return 0
    const named: PartsNamed = { bundle, parts: out.map(placeOf) }
    const event = logEvent(archivedType, 'log.archiveParts', named)
    if (await record(store, at, event, { out })) return out.length
  }
}

/**
 * Puts the parts of a bundle back beside their events, once the whole bundle was compared with the log.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT` when it is not a bundle of this log, `CORRUPT`
 */
export async function putBack(options: {
  path: string
  store: Store
  from: string
  at: Instant
}): Promise<PartsBack> {
  const { path, store, from, at } = options
  const { out, ...moved } = await checkBundle(path, from)
  let [count, returned] = [0, 0]
  await inBatches(from, async batch => {
    const back = await bringBack({ store, at, bundle: moved.bundle }, batch, out)
    count += back.there
    returned += back.returned
  })
  // An owner whose key was destroyed has no parts any longer.
  return { ...moved, count, returned, keyless: moved.count - count }
}

/** Puts back the given parts that are out, with the event that names them, and counts those, and all now there. */
async function bringBack(
  { store, at, bundle }: { store: Store; at: Instant; bundle: string },
  batch: readonly PlacedPart[],
  out: ReadonlySet<string>,
): Promise<{ returned: number; there: number }> {
  // A part that a move never reached, and that was destroyed since, must not come back.
  const known = batch.filter(part => out.has(placeOf(part)))
  for (;;) {
    const back = await store.reader.read(() => returnable(known))
    const named: PartsNamed = { bundle, parts: back.map(placeOf) }
    const event = logEvent(restoredType, 'log.restoreParts', named)
    if (back.length > 0 && !(await record(store, at, event, { back }))) continue
    return { returned: back.length, there: (await store.reader.read(() => present(batch))).length }
  }
}

/** Reads the parts of a bundle, as many at a time as one event names. */
async function inBatches(
  path: string,
  onBatch: (batch: readonly PlacedPart[]) => Promise<void>,
): Promise<void> {
  let batch: PlacedPart[] = []
  let bytes = 0
  await readBundle(path, async part => {
    batch.push(part)
    bytes += part.sealed.length
    if (batch.length < batchParts && bytes < batchBytes) return
    await onBatch(batch)
    batch = []
    bytes = 0
  })
  await onBatch(batch)
}

async function checkBundle(path: string, from: string): Promise<PartsMoved & { out: Set<string> }> {
  const snapshot = await Snapshot.open(path)
  try {
    const { origin } = snapshot.run(readFacts)
    const { bundle, count, from: first, to, ...header } = await readBundle(from, () => undefined)
    if (header.origin !== origin)
      throw new AverbaError('INVALID_INPUT', `Cannot put back "${from}": it is a bundle of another log`, {
        hint: 'Name the store that it was made of',
      })
    const { out, isKnown } = snapshot.run(() => readOut(bundle))
    let outOfIt = 0
    await readBundle(from, part => {
      snapshot.run(() => checkMark(part))
      if (out.has(placeOf(part))) outOfIt += 1
    })
    if (isKnown) return { bundle, count, from: first, to, out }
    throw unknownBundle(from, outOfIt)
  } finally {
    snapshot.close()
  }
}

/**
 * The error for a bundle that no event names: a move that was cut off before its first event leaves one, with all its
 * parts in the log.
 */
function unknownBundle(from: string, out: number): AverbaError {
  const cannot = `Cannot put back "${from}": no event of the log names this bundle`
  if (out > 0) {
    const hint = 'It was changed, or they are in another bundle: look for the one that the log names'
    return new AverbaError('CORRUPT', `${cannot}, though ${out} of its parts are out`, { hint })
  }
  const hint = 'No part of it is out of the log: the bundle is not needed'
  return new AverbaError('INVALID_INPUT', `${cannot}: nothing was moved out to it`, { hint })
}

/** The parts that go, in order, read a few at a time. */
function* select(snapshot: Snapshot, { before, stays }: ArchiveOptions): Generator<PlacedPart> {
  const until = snapshot.run(() => positionBefore(before))
  const { owing, opened } = snapshot.run(readOpen)
  let last = { position: 0, name: '' }
  for (;;) {
    const page = snapshot.run(() => selectPage(last, until))
    for (const { stream, version, type, header, ...part } of page) {
      const { position, name } = part
      const isNeeded = owing.has(position) || opened.has(`${stream}/${version}/${name}`)
      if (!isNeeded && !stays({ stream, type, name, position, header })) yield part
    }
    const end = page.at(-1)
    if (!end) return
    last = end
  }
}

interface PartRow extends PlacedPart {
  readonly stream: string
  readonly version: number
  readonly type: string
  /** Of its event. */
  readonly header: string
}

function* selectPage(last: { position: number; name: string }, until: number): Steps<readonly PartRow[]> {
  return yield* rows<PartRow>({ sql: selectParts, parameters: [last.position, last.name, until, pageParts] })
}

/** The events whose effects have not ended, and the parts of other events that these open. */
function* readOpen(): Steps<{ owing: Set<number>; opened: Set<string> }> {
  const open = yield* rows<{ position: number; n: number; header: string }>({
    sql: selectOpen,
    parameters: [],
  })
  const opened = open.flatMap(({ n, header }) =>
    Object.values<string>(parseHeader(header).effects?.[n]?.opens ?? {}),
  )
  return { owing: new Set(open.map(row => row.position)), opened: new Set(opened) }
}

/** Records the event and moves its parts. False where one of the parts is elsewhere by now. */
async function record(
  store: Store,
  at: Instant,
  event: ReturnType<typeof logEvent>,
  relocates: Relocation,
): Promise<boolean> {
  const streams = [{ stream: logStream, expect: 'exists' }] as const
  const { status } = await store.append({ at, streams, events: [event], relocates })
  return status === 'appended'
}

const selectParts = `select part.position, part.name, part.sealed, owner_key.owner, event.version, event.type,
  event.header, stream.name as stream from part join owner_key on owner_key.key = part.owner
  join event on event.position = part.position join stream on stream.key = event.stream
  where (part.position, part.name) > (?, ?) and part.position <= ? order by part.position, part.name limit ?`
const selectOpen = `select effect.position, effect.n, event.header from effect
  join event on event.position = effect.position where effect.is_open = 1`

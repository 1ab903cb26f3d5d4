import { createHash, hash } from 'node:crypto'
import { closeSync, createReadStream, openSync } from 'node:fs'
import { AverbaError } from '../errors.ts'
import type { Instant, PartMark } from '../message.ts'
import { writeWhole } from '../vault/durable-file.ts'
import { first, type Steps } from './connection.ts'
import { parseHeader } from './header.ts'
import type { PartsMoved } from './moved-parts.ts'

/** A sealed part with its place. */
export interface PlacedPart {
  readonly position: number
  readonly name: string
  readonly owner: string
  readonly sealed: Uint8Array
}

/** The first line of a bundle: which log its parts belong to, and which keyring opens them. */
export interface BundleHeader {
  readonly format: 'averba parts 1'
  readonly origin: string
  readonly keyring: string
  readonly before: Instant
}

/** Writes a bundle, one line of JSON for its header and for each part, and tells its digest and extent. */
export function writeBundle(path: string, header: BundleHeader, parts: Iterable<PlacedPart>): PartsMoved {
  const digest = createHash('sha256')
  const descriptor = openSync(path, 'w')
  const write = (line: object) => {
    const bytes = Buffer.from(`${JSON.stringify(line)}\n`)
    digest.update(bytes)
    writeWhole(descriptor, bytes)
  }
  let [count, from, to] = [0, 0, 0]
  try {
    write(header)
    for (const { sealed, ...place } of parts) {
      write({ ...place, sealed: Buffer.from(sealed).toString('base64') })
      if (count === 0) from = place.position
      to = place.position
      count += 1
    }
  } finally {
    closeSync(descriptor)
  }
  return { bundle: digest.digest('hex'), count, from, to }
}

/**
 * Reads a bundle part by part, and at its end tells its digest and extent.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS` when it is not a bundle
 */
export async function readBundle(
  path: string,
  onPart: (part: PlacedPart) => Promise<void> | void,
): Promise<BundleHeader & PartsMoved> {
  const digest = createHash('sha256')
  let header: BundleHeader | undefined
  let [count, from, to] = [0, 0, 0]
  for await (const line of linesOf(path, digest)) {
    if (!header) {
      header = parseBundleHeader(path, line)
      continue
    }
    const part = parsePart(path, line)
    if (count === 0) from = part.position
    to = part.position
    count += 1
    await onPart(part)
  }
  return { ...(header ?? parseBundleHeader(path, '')), bundle: digest.digest('hex'), count, from, to }
}

/** Refuses a part that is not the one that the header of its event names. */
export function* checkMark({ position, name, owner, sealed }: PlacedPart): Steps<void> {
  const event = yield* first<{ header: string }>({ sql: selectHeader, parameters: [position] })
  const marks: readonly PartMark[] = event ? (parseHeader(event.header).parts ?? []) : []
  const mark = marks.find(each => each.name === name)
  if (mark?.owner === owner && mark.hash === hash('sha256', sealed, 'hex')) return
  throw new AverbaError(
    'CORRUPT',
    `Cannot use the bundle: it holds another part than the event at ${position}`,
    { hint: takeCopy },
  )
}

async function* linesOf(path: string, digest: ReturnType<typeof createHash>): AsyncIterable<string> {
  let pieces: Buffer[] = []
  try {
    for await (const read of createReadStream(path)) {
      let rest: Buffer = read
      digest.update(rest)
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        yield Buffer.concat([...pieces, rest.subarray(0, end)]).toString()
        pieces = []
        rest = rest.subarray(end + 1)
      }
      if (rest.length > 0) pieces.push(rest)
    }
  } catch (cause) {
    if (!(cause instanceof Error && 'syscall' in cause)) throw cause
    throw new AverbaError('NOT_FOUND', `Cannot read the bundle "${path}"`, { cause, hint: nameOne })
  }
  if (pieces.length > 0) yield Buffer.concat(pieces).toString()
}

function parseBundleHeader(path: string, line: string): BundleHeader {
  const header = parseLine(line)
  if (header?.format === 'averba parts 1') return header as unknown as BundleHeader // It names its own shape.
  throw new AverbaError('NOT_OURS', `Cannot read "${path}": it is not a bundle of parts`, { hint: nameOne })
}

function parsePart(path: string, line: string): PlacedPart {
  const { position, name, owner, sealed } = parseLine(line) ?? {}
  const isPart =
    typeof position === 'number' &&
    typeof name === 'string' &&
    typeof owner === 'string' &&
    typeof sealed === 'string'
  if (isPart) return { position, name, owner, sealed: Buffer.from(sealed, 'base64') }
  throw new AverbaError('CORRUPT', `Cannot read the bundle "${path}": a line of it is damaged`, {
    hint: takeCopy,
  })
}

function parseLine(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? { ...value } : undefined
  } catch {
    return undefined
  }
}

const nameOne = 'Name the bundle as averba archive made it, and a file that this user can read'
const takeCopy = 'Take your backup of the bundle: the log names it by its SHA-256'
const selectHeader = 'select header from event where position = ?'

import { fromBase64, sha256 } from './encoding.ts'
import { Faults } from './faults.ts'
import { LogVerifier, type PresentPart } from './log-verifier.ts'
import { parseVerifierKey, type VerifierKey, writeVerifierKey } from './note.ts'
import { parseObject } from './recorded-header.ts'
import { conclude, type Verdict } from './verdict.ts'
import {
  anchorBytesMax,
  anchorTooLong,
  type GivenCheckpoint,
  verifyCheckpoint,
  verifyCheckpoints,
} from './verify-checkpoints.ts'

/** The files of an exported bundle. */
export type BundleFile = 'checkpoint' | 'key' | 'leaves.ndjson' | 'parts.ndjson' | 'checkpoints.ndjson'

/** Reads a file of a bundle in chunks; returns `undefined` when the file does not exist. */
export type ReadFile = (name: BundleFile) => AsyncIterable<Uint8Array> | undefined

/** How to verify a bundle. */
export interface VerifyBundleOptions {
  /** Verifier key lines that the bundle has to be signed with; when absent, those in the bundle. */
  readonly keys?: readonly string[]
  /** A signed checkpoint of the same log that was kept elsewhere: the bundle has to continue it. */
  readonly mark?: string
  /** Verifier key lines of others who sign checkpoints. */
  readonly witnesses?: readonly string[]
  /** Called every 1,000 events with the number of verified events and their total. */
  readonly onProgress?: (done: number, end: number) => void
}

const progressEvery = 1_000
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Verifies an exported bundle: every signature, the root from the bytes of the leaves, every part or the event that
 * explains why it is missing, all checkpoints, gapless positions and versions, and each decision against the transition
 * tables in the log. Needs no database, no keyring and no network.
 *
 * @throws {TypeError} when a given key is not a verifier key line
 */
export async function verifyBundle(read: ReadFile, options: VerifyBundleOptions = {}): Promise<Verdict> {
  const { mark: givenMark, witnesses = [] } = options
  const faults = new Faults()
  const own = await readBundleKeys(read, faults)
  const keys = options.keys ? options.keys.map(parseGivenKey) : own
  const given = await readCheckpoints(read, faults)
  const trusted = await verifyCheckpoints(given, keys, witnesses.map(parseGivenKey), faults)
  const { checkpoints, anchored, stamped, uncounted } = trusted
  const mark = givenMark === undefined ? undefined : await verifyCheckpoint(givenMark, keys)
  if (typeof mark === 'string') faults.add('mark', `the given checkpoint ${mark}`)
  const held = typeof mark === 'object' ? mark : undefined
  const points = [...checkpoints, ...(held ? [held] : [])].sort((a, b) => a.size - b.size)
  const verifier = new LogVerifier(points, keys.map(writeVerifierKey))
  const end = checkpoints.at(-1)?.size ?? 0
  await verifyEvents(read, verifier, faults, done => options.onProgress?.(done, end))
  const verified = verifier.finish()
  faults.addAll(verifier.faults.list())
  if (verified.events > end) faults.add('bundle', `it holds ${verified.events - end} events after its checkpoint`)
  return conclude({
    ...verified,
    faults: faults.list(),
    checkpoints: checkpoints.length,
    signed: end,
    held: held?.size ?? 0,
    anchored,
    stamped,
    uncounted,
    isKeyGiven: options.keys !== undefined,
    notHeldReason: 'No checkpoint from another source was given to compare it with.',
  })
}

async function verifyEvents(
  read: ReadFile,
  verifier: LogVerifier,
  faults: Faults,
  onProgress: (done: number) => void,
): Promise<void> {
  const parts = new PartReader(read('parts.ndjson'), faults)
  try {
    for await (const line of readLines(read('leaves.ndjson') ?? emptyStream())) {
      verifier.add(decoder.decode(line), await parts.readAt(verifier.size + 1))
      if (verifier.size % progressEvery === 0) onProgress(verifier.size)
    }
  } catch (error) {
    faults.add('bundle', `leaves.ndjson cannot be read after event ${verifier.size}: ${readFailureReason(error)}`)
  }
  await parts.finish()
}

/** Reads the parts along with the leaves: both are in the order of the events, so no part is kept. */
class PartReader {
  readonly #lines: AsyncGenerator<Uint8Array>
  readonly #faults: Faults
  #next: (PresentPart & { position: number }) | undefined
  #hasBegun = false
  #lineNumber = 0

  constructor(chunks: AsyncIterable<Uint8Array> | undefined, faults: Faults) {
    this.#lines = readLines(chunks ?? emptyStream())
    this.#faults = faults
    if (!chunks) faults.add('bundle', 'it has no file parts.ndjson')
  }

  async readAt(position: number): Promise<PresentPart[]> {
    if (!this.#hasBegun) await this.#readNext()
    this.#hasBegun = true
    const found: PresentPart[] = []
    while (this.#next && this.#next.position <= position) {
      if (this.#next.position === position) found.push(this.#next)
      else this.#faults.add('bundle', `line ${this.#lineNumber} of parts.ndjson is out of order`)
      await this.#readNext()
    }
    return found
  }

  async finish(): Promise<void> {
    if (!this.#hasBegun) await this.#readNext()
    while (this.#next) {
      this.#faults.add('parts', `there is a part at ${this.#next.position}, but no event`)
      await this.#readNext()
    }
  }

  async #readNext(): Promise<void> {
    this.#next = undefined
    try {
      const line = await this.#lines.next()
      if (line.done) return
      this.#lineNumber += 1
      const part = parsePart(decoder.decode(line.value))
      if (part) this.#next = part
      else {
        this.#faults.add('bundle', `line ${this.#lineNumber} of parts.ndjson is not a part`)
        await this.#readNext()
      }
    } catch (error) {
      this.#faults.add(
        'bundle',
        `parts.ndjson cannot be read after line ${this.#lineNumber}: ${readFailureReason(error)}`,
      )
    }
  }
}

function parsePart(text: string): (PresentPart & { position: number }) | undefined {
  const { position, name, owner, sealed } = parseObject(text) ?? {}
  const bytes = typeof sealed === 'string' ? fromBase64(sealed) : undefined
  if (typeof position !== 'number' || typeof name !== 'string' || typeof owner !== 'string' || !bytes) return undefined
  return { position, name, owner, hash: sha256(bytes), bytes: bytes.length }
}

async function readBundleKeys(read: ReadFile, faults: Faults): Promise<VerifierKey[]> {
  const keys: VerifierKey[] = []
  for (const line of (await readText(read, 'key', faults)).split('\n').filter(each => each !== '')) {
    const key = parseVerifierKey(line)
    if (key) keys.push(key)
    else faults.add('bundle', 'a line of the file key is not a verifier key')
  }
  return keys
}

/** Reads all checkpoints, the smallest first. The last one must be equal to the file `checkpoint`. */
async function readCheckpoints(read: ReadFile, faults: Faults): Promise<GivenCheckpoint[]> {
  const newest = await readText(read, 'checkpoint', faults)
  const given: GivenCheckpoint[] = []
  const lines = read('checkpoints.ndjson')
  if (!lines) return [{ note: newest }]
  try {
    for await (const line of readLines(lines)) {
      const { note, anchor } = parseObject(decoder.decode(line)) ?? {}
      if (typeof note !== 'string') faults.add('bundle', 'a line of checkpoints.ndjson is not a checkpoint')
      else given.push({ note, anchor: decodeAnchor(anchor) })
    }
  } catch (error) {
    faults.add('bundle', `checkpoints.ndjson cannot be read: ${readFailureReason(error)}`)
  }
  if (given.at(-1)?.note !== newest) faults.add('bundle', 'its checkpoint is not the newest of checkpoints.ndjson')
  return given
}

/** Decodes the answer of an anchor from base64, unless it is too long. */
function decodeAnchor(anchor: unknown): GivenCheckpoint['anchor'] {
  if (anchor === undefined) return undefined
  if (typeof anchor !== 'string') return 'is not base64'
  if (anchor.length > Math.ceil(anchorBytesMax / 3) * 4) return anchorTooLong
  return fromBase64(anchor) ?? 'is not base64'
}

async function readText(read: ReadFile, name: BundleFile, faults: Faults): Promise<string> {
  const chunks = read(name)
  if (!chunks) faults.add('bundle', `it has no file ${name}`)
  try {
    const lines: string[] = []
    for await (const line of readLines(chunks ?? emptyStream())) lines.push(`${decoder.decode(line)}\n`)
    return lines.join('')
  } catch (error) {
    faults.add('bundle', `${name} cannot be read: ${readFailureReason(error)}`)
    return ''
  }
}

function parseGivenKey(line: string): VerifierKey {
  const key = parseVerifierKey(line.trim())
  if (key) return key
  throw new TypeError('Cannot verify the bundle: a given key is not the line of an Ed25519 verifier key')
}

async function* emptyStream(): AsyncGenerator<Uint8Array> {}

function readFailureReason(error: unknown): string {
  if (error instanceof RangeError) return error.message
  if (error instanceof TypeError) return 'it is not UTF-8'
  throw error
}

const lineBytesMax = 64 * 1024 * 1024

/**
 * Reads lines that each end with a newline, and yields their exact bytes.
 *
 * @throws {RangeError} when the last line has no newline, or a line is longer than 64 MB
 */
async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let pieces: Uint8Array[] = []
  let pendingBytes = 0
  for await (const chunk of chunks) {
    let rest = chunk
    for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
      yield joinPieces([...pieces, rest.subarray(0, end)])
      pieces = []
      pendingBytes = 0
      rest = rest.subarray(end + 1)
    }
    if (rest.length === 0) continue
    pieces.push(rest)
    pendingBytes += rest.length
    if (pendingBytes > lineBytesMax) throw new RangeError('a line is longer than any that averba writes')
  }
  if (pendingBytes > 0) throw new RangeError('it ends within a line')
}

function joinPieces(pieces: readonly Uint8Array[]): Uint8Array {
  const [only] = pieces
  if (only && pieces.length === 1) return only
  const joined = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(piece, at)
    at += piece.length
  }
  return joined
}

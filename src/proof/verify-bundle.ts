import { fromBase64, sha256 } from './encoding.ts'
import { Faults } from './faults.ts'
import type { LogVerifier, PresentPart } from './log-verifier.ts'
import { parseVerifierKey, type VerifierKey } from './note.ts'
import { parseObject } from './recorded-header.ts'
import { type Verdict, verifyLog } from './verdict.ts'
import { anchorBytesMax, anchorTooLong, type GivenCheckpoint } from './verify-checkpoints.ts'

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

/**
 * Verifies an exported bundle: every signature, the root from the bytes of the leaves, every part or the event that
 * explains why it is missing, all checkpoints, gapless positions and versions, and each decision against the transition
 * tables in the log. Needs no database, no keyring and no network.
 *
 * @throws {TypeError} when a given key is not a verifier key line
 */
export async function verifyBundle(read: ReadFile, options: VerifyBundleOptions = {}): Promise<Verdict> {
  const { mark, witnesses = [], onProgress } = options
  const faults = new Faults()
  const own = await readBundleKeys(read, faults)
  const evidence = {
    checkpoints: await readCheckpoints(read, faults),
    keys: options.keys ? options.keys.map(parseGivenKey) : own,
    isKeyGiven: options.keys !== undefined,
    witnesses: witnesses.map(parseGivenKey),
    mark,
    isMarkGiven: true,
    markName: 'the given checkpoint',
    notHeldReason: 'No checkpoint from another source was given to compare it with.',
  }
  return verifyLog(evidence, faults, async (verifier, { signed }) => {
    await verifyEvents(read, verifier, faults, done => onProgress?.(done, signed))
    if (verifier.size > signed) faults.add('bundle', `it holds ${verifier.size - signed} events after its checkpoint`)
    return verifier.finish()
  })
}

async function verifyEvents(
  read: ReadFile,
  verifier: LogVerifier,
  faults: Faults,
  onProgress: (done: number) => void,
): Promise<void> {
  const parts = createPartReader(read('parts.ndjson'), faults)
  const leaves = readTexts(read('leaves.ndjson'), faults, count => `leaves.ndjson cannot be read after event ${count}`)
  for await (const leaf of leaves) {
    verifier.add(leaf, await parts.readAt(verifier.size + 1))
    if (verifier.size % progressEvery === 0) onProgress(verifier.size)
  }
  await parts.finish()
}

interface BundledPart extends PresentPart {
  readonly position: number
  readonly line: number
}

/** Reads the parts along with the leaves: both are in the order of the events, so no part is kept. */
function createPartReader(chunks: AsyncIterable<Uint8Array> | undefined, faults: Faults) {
  if (!chunks) faults.add('bundle', 'it has no file parts.ndjson')
  const parts = readParts(chunks, faults)
  let next: BundledPart | undefined
  const peek = async () => {
    next ??= (await parts.next()).value
    return next
  }
  return {
    async readAt(position: number): Promise<PresentPart[]> {
      const found: PresentPart[] = []
      for (let part = await peek(); part && part.position <= position; part = await peek()) {
        if (part.position === position) found.push(part)
        else faults.add('bundle', `line ${part.line} of parts.ndjson is out of order`)
        next = undefined
      }
      return found
    },
    async finish(): Promise<void> {
      for (let part = await peek(); part; part = await peek()) {
        faults.add('parts', `there is a part at ${part.position}, but no event`)
        next = undefined
      }
    },
  }
}

async function* readParts(
  chunks: AsyncIterable<Uint8Array> | undefined,
  faults: Faults,
): AsyncGenerator<BundledPart, undefined> {
  let line = 0
  for await (const text of readTexts(chunks, faults, count => `parts.ndjson cannot be read after line ${count}`)) {
    line += 1
    const part = parsePart(text, line)
    if (part) yield part
    else faults.add('bundle', `line ${line} of parts.ndjson is not a part`)
  }
}

function parsePart(text: string, line: number): BundledPart | undefined {
  const { position, name, owner, sealed } = parseObject(text) ?? {}
  const bytes = typeof sealed === 'string' ? fromBase64(sealed) : undefined
  if (typeof position !== 'number' || typeof name !== 'string' || typeof owner !== 'string' || !bytes) return undefined
  return { position, line, name, owner, hash: sha256(bytes), bytes: bytes.length }
}

/** A log has a key for each time that it was restored. Every checkpoint is compared with all of them. */
const keysMax = 1_000

async function readBundleKeys(read: ReadFile, faults: Faults): Promise<VerifierKey[]> {
  const keys: VerifierKey[] = []
  for (const line of (await readText(read, 'key', faults)).split('\n').filter(each => each !== '')) {
    const key = parseVerifierKey(line)
    if (key && keys.length < keysMax) keys.push(key)
    else if (key) faults.add('bundle', `the file key has more than ${keysMax} keys`)
    else faults.add('bundle', 'a line of the file key is not a verifier key')
  }
  return keys
}

/** Reads all checkpoints, the smallest first. The last one must be equal to the file `checkpoint`. */
async function readCheckpoints(read: ReadFile, faults: Faults): Promise<GivenCheckpoint[]> {
  const newest = await readText(read, 'checkpoint', faults)
  const given: GivenCheckpoint[] = []
  const chunks = read('checkpoints.ndjson')
  if (!chunks) return [{ note: newest }]
  for await (const line of readTexts(chunks, faults, () => 'checkpoints.ndjson cannot be read')) {
    const { note, anchor } = parseObject(line) ?? {}
    if (typeof note !== 'string') faults.add('bundle', 'a line of checkpoints.ndjson is not a checkpoint')
    else given.push({ note, anchor: decodeAnchor(anchor) })
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
  const lines: string[] = []
  for await (const line of readTexts(chunks, faults, () => `${name} cannot be read`)) lines.push(`${line}\n`)
  return lines.join('')
}

function parseGivenKey(line: string): VerifierKey {
  const key = parseVerifierKey(line.trim())
  if (key) return key
  throw new TypeError('Cannot verify the bundle: a given key is not the line of an Ed25519 verifier key')
}

/** A body of 64 MiB, the largest that the receiver may be set to take: in base64 in its part, and that in its line. */
const lineLengthMax = 160 * 1024 * 1024

/** Reads the lines of a file, as far as it can be read. `failed` says that it cannot, after so many lines. */
async function* readTexts(
  chunks: AsyncIterable<Uint8Array> | undefined,
  faults: Faults,
  failed: (count: number) => string,
): AsyncGenerator<string, undefined> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let count = 0
  let line = ''
  try {
    for await (const chunk of chunks ?? []) {
      const [end = '', ...others] = decoder.decode(chunk, { stream: true }).split('\n')
      line += end
      for (const next of others) {
        count += 1
        yield line
        line = next
      }
      if (line.length > lineLengthMax) throw new RangeError('a line is longer than any that averba writes')
    }
    if (line + decoder.decode() !== '') throw new RangeError('it ends within a line')
  } catch (error) {
    if (error instanceof RangeError) faults.add('bundle', `${failed(count)}: ${error.message}`)
    else if (error instanceof TypeError) faults.add('bundle', `${failed(count)}: it is not UTF-8`)
    else throw error
  }
}

import { fromBase64 } from './encoding.ts'
import { Faults } from './faults.ts'
import { linesOf } from './lines.ts'
import { LogVerifier, type PresentPart } from './log-verifier.ts'
import {
  anchorBytesMax,
  anchorTooLong,
  type GivenCheckpoint,
  verifyCheckpoint,
  verifyCheckpoints,
} from './marks.ts'
import { parseVerifierKey, type VerifierKey, writeVerifierKey } from './note.ts'
import { parseObject } from './recorded-header.ts'
import { sha256 } from './sha256.ts'
import { conclude, type Verdict } from './verdict.ts'

/** The files of an exported bundle. */
export type BundleFile = 'checkpoint' | 'key' | 'leaves.ndjson' | 'parts.ndjson' | 'checkpoints.ndjson'

/** Gives the bytes of a file of a bundle, in pieces; `undefined` when there is no such file. */
export type ReadFile = (name: BundleFile) => AsyncIterable<Uint8Array> | undefined

/** How to verify a bundle. */
export interface VerifyBundleOptions {
  /** Verifier key lines that it has to be signed with; when absent, the one in the bundle. */
  readonly keys?: readonly string[]
  /** A signed checkpoint of the same log that was kept elsewhere: the bundle has to continue it. */
  readonly mark?: string
  /** Verifier key lines of others who sign checkpoints. */
  readonly witnesses?: readonly string[]
  /** Told now and then how many events were verified, and how many there are. */
  readonly onProgress?: (done: number, end: number) => void
}

const progressEvery = 1_000
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Verifies an exported bundle: every signature, the root from the bytes of the leaves, every part or what explains that
 * it is gone, all checkpoints, dense positions and versions, and each decision by the tables in the log. Needs no
 * database, no keyring and no network.
 *
 * @throws {TypeError} when a given key line is not one
 */
export async function verifyBundle(read: ReadFile, options: VerifyBundleOptions = {}): Promise<Verdict> {
  const { mark: outside, witnesses = [] } = options
  const faults = new Faults()
  const own = await keysIn(read, faults)
  const keys = options.keys ? options.keys.map(readKey) : own
  const given = await checkpointsIn(read, faults)
  const trusted = await verifyCheckpoints(given, keys, witnesses.map(readKey), faults)
  const { checkpoints, anchored, stamped, uncounted } = trusted
  const mark = outside === undefined ? undefined : await verifyCheckpoint(outside, keys)
  if (typeof mark === 'string') faults.add('mark', `the given checkpoint ${mark}`)
  const held = typeof mark === 'object' ? mark : undefined
  const points = [...checkpoints, ...(held ? [held] : [])].sort((a, b) => a.size - b.size)
  const verifier = new LogVerifier(points, keys.map(writeVerifierKey))
  const end = checkpoints.at(-1)?.size ?? 0
  await walk(read, verifier, faults, done => options.onProgress?.(done, end))
  const verified = verifier.finish()
  faults.take(verifier.faults.list())
  if (verified.events > end)
    faults.add('bundle', `it holds ${verified.events - end} events behind its checkpoint`)
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
    whyNotHeld: 'No checkpoint from elsewhere was given to hold it against.',
  })
}

async function walk(
  read: ReadFile,
  verifier: LogVerifier,
  faults: Faults,
  onProgress: (done: number) => void,
): Promise<void> {
  const parts = new PartsInOrder(read('parts.ndjson'), faults)
  try {
    for await (const line of linesOf(read('leaves.ndjson') ?? nothing())) {
      verifier.add(decoder.decode(line), await parts.of(verifier.size + 1))
      if (verifier.size % progressEvery === 0) onProgress(verifier.size)
    }
  } catch (error) {
    faults.add('bundle', `leaves.ndjson cannot be read behind event ${verifier.size}: ${reasonOf(error)}`)
  }
  await parts.end()
}

/** Parts are in the order of their events: they are read along with the leaves, and never kept. */
class PartsInOrder {
  readonly #lines: AsyncGenerator<Uint8Array>
  readonly #faults: Faults
  #next: (PresentPart & { position: number }) | undefined
  #isBegun = false
  #count = 0

  constructor(chunks: AsyncIterable<Uint8Array> | undefined, faults: Faults) {
    this.#lines = linesOf(chunks ?? nothing())
    this.#faults = faults
    if (!chunks) faults.add('bundle', 'it has no file parts.ndjson')
  }

  async of(position: number): Promise<PresentPart[]> {
    if (!this.#isBegun) await this.#read()
    this.#isBegun = true
    const found: PresentPart[] = []
    while (this.#next && this.#next.position <= position) {
      if (this.#next.position === position) found.push(this.#next)
      else this.#faults.add('bundle', `line ${this.#count} of parts.ndjson stands out of order`)
      await this.#read()
    }
    return found
  }

  async end(): Promise<void> {
    if (!this.#isBegun) await this.#read()
    while (this.#next) {
      this.#faults.add('parts', `a part stands at ${this.#next.position}, where there is no event`)
      await this.#read()
    }
  }

  async #read(): Promise<void> {
    this.#next = undefined
    try {
      const line = await this.#lines.next()
      if (line.done) return
      this.#count += 1
      const part = parsePart(decoder.decode(line.value))
      if (part) this.#next = part
      else {
        this.#faults.add('bundle', `line ${this.#count} of parts.ndjson is not a part`)
        await this.#read()
      }
    } catch (error) {
      this.#faults.add('bundle', `parts.ndjson cannot be read behind line ${this.#count}: ${reasonOf(error)}`)
    }
  }
}

function parsePart(text: string): (PresentPart & { position: number }) | undefined {
  const { position, name, owner, sealed } = parseObject(text) ?? {}
  const bytes = typeof sealed === 'string' ? fromBase64(sealed) : undefined
  if (typeof position !== 'number' || typeof name !== 'string' || typeof owner !== 'string' || !bytes)
    return undefined
  return { position, name, owner, hash: sha256(bytes), bytes: bytes.length }
}

async function keysIn(read: ReadFile, faults: Faults): Promise<VerifierKey[]> {
  const keys: VerifierKey[] = []
  for (const line of (await textOf(read, 'key', faults)).split('\n').filter(each => each !== '')) {
    const key = parseVerifierKey(line)
    if (key) keys.push(key)
    else faults.add('bundle', 'a line of the file key is not a verifier key')
  }
  return keys
}

/** All checkpoints, the smallest first; the newest has to be the one in its own file. */
async function checkpointsIn(read: ReadFile, faults: Faults): Promise<GivenCheckpoint[]> {
  const newest = await textOf(read, 'checkpoint', faults)
  const given: GivenCheckpoint[] = []
  const lines = read('checkpoints.ndjson')
  if (!lines) return [{ note: newest }]
  try {
    for await (const line of linesOf(lines)) {
      const { note, anchor } = parseObject(decoder.decode(line)) ?? {}
      if (typeof note !== 'string') faults.add('bundle', 'a line of checkpoints.ndjson is not a checkpoint')
      else given.push({ note, anchor: anchorIn(anchor) })
    }
  } catch (error) {
    faults.add('bundle', `checkpoints.ndjson cannot be read: ${reasonOf(error)}`)
  }
  if (given.at(-1)?.note !== newest)
    faults.add('bundle', 'its checkpoint is not the newest of checkpoints.ndjson')
  return given
}

/** An anchor's answer, decoded from base64; one that is too long is not even decoded. */
function anchorIn(anchor: unknown): GivenCheckpoint['anchor'] {
  if (anchor === undefined) return undefined
  if (typeof anchor !== 'string') return 'is not base64'
  if (anchor.length > Math.ceil(anchorBytesMax / 3) * 4) return anchorTooLong
  return fromBase64(anchor) ?? 'is not base64'
}

async function textOf(read: ReadFile, name: BundleFile, faults: Faults): Promise<string> {
  const chunks = read(name)
  if (!chunks) faults.add('bundle', `it has no file ${name}`)
  try {
    const lines: string[] = []
    for await (const line of linesOf(chunks ?? nothing())) lines.push(`${decoder.decode(line)}\n`)
    return lines.join('')
  } catch (error) {
    faults.add('bundle', `${name} cannot be read: ${reasonOf(error)}`)
    return ''
  }
}

function readKey(line: string): VerifierKey {
  const key = parseVerifierKey(line.trim())
  if (key) return key
  throw new TypeError('A given verifier key is not a line of an Ed25519 key')
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

function reasonOf(error: unknown): string {
  if (error instanceof RangeError) return error.message
  if (error instanceof TypeError) return 'it is not UTF-8'
  throw error
}

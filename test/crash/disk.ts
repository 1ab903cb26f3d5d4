import type { Random } from './random.ts'
import type { Step } from './trace.ts'

/** What a disk may lose as one piece: of a longer write, any of these may be there or not. */
const sectorBytes = 512

type Change = { readonly offset: number; readonly bytes: Buffer } | { readonly size: number }

/** A file by what is certain of it, and what was changed since it was last synced. */
interface File {
  kept: Buffer
  pending: Change[]
}

/** Which of the changes that were not synced a power cut leaves: none, all, or any, in pieces. */
export type Leaves = 'none' | 'all' | Random

/**
 * A disk that keeps what was synced and promises nothing else, following a trace of one folder. A name is
 * certain once its folder was synced; names come and go in the order in which they were asked for.
 */
export class Disk {
  readonly #folder: string
  #names = new Map<string, File>()
  #keptNames = new Map<string, File>()
  #pendingNames: Map<string, File>[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Goes on by one step. What shared memory holds is gone with the power, and is left out. */
  apply(step: Step): void {
    if (step.did === 'say') return
    if (step.did === 'link' || step.did === 'rename') {
      this.#link(step)
      return
    }
    const { path } = step
    if (step.did === 'sync' && path === this.#folder) {
      this.#keptNames = this.#pendingNames.at(-1) ?? this.#keptNames
      this.#pendingNames = []
    }
    if (!this.#isOurs(path)) return
    if (step.did === 'unlink') {
      this.#rename(names => names.delete(path))
      return
    }
    const file = this.#fileAt(path)
    if (step.did === 'sync') {
      file.kept = contentOf(file, 'all')
      file.pending = []
    } else if (step.did === 'truncate') file.pending.push({ size: step.size })
    else file.pending.push({ offset: step.offset ?? contentOf(file, 'all').length, bytes: step.bytes })
  }

  /** What the disk may hold when the power comes back: contents by path. */
  image(leaves: Leaves): Map<string, Buffer> {
    const states = [this.#keptNames, ...this.#pendingNames]
    const last = leaves === 'none' ? 0 : states.length - 1
    const names = states[typeof leaves === 'string' ? last : leaves.below(states.length)] ?? this.#keptNames
    return new Map([...names].map(([path, file]) => [path, contentOf(file, leaves)]))
  }

  #isOurs(path: string): boolean {
    return path.startsWith(`${this.#folder}/`) && !path.endsWith('-shm')
  }

  /** Renamed, the file has its new name in the very moment in which it loses the old one. */
  #link({ did, from, to }: Extract<Step, { did: 'link' | 'rename' }>): void {
    if (!this.#isOurs(to)) return
    const file = this.#fileAt(from)
    this.#rename(names => {
      names.set(to, file)
      if (did === 'rename') names.delete(from)
    })
  }

  #fileAt(path: string): File {
    const known = this.#names.get(path)
    if (known) return known
    const made: File = { kept: Buffer.alloc(0), pending: [] }
    this.#rename(names => names.set(path, made))
    return made
  }

  #rename(change: (names: Map<string, File>) => void): void {
    this.#names = new Map(this.#names)
    change(this.#names)
    this.#pendingNames.push(this.#names)
  }
}

function contentOf({ kept, pending }: File, leaves: Leaves): Buffer {
  if (leaves === 'none') return kept
  let content = kept
  for (const change of pending) {
    for (const piece of leaves === 'all' ? [change] : piecesLeft(change, leaves))
      content = changed(content, piece)
  }
  return content
}

/** A change is there, is not there, or is torn: then each of its sectors is there or is not. */
function piecesLeft(change: Change, random: Random): Change[] {
  const fate = random.below(3)
  if (fate === 0) return []
  if (fate === 1 || 'size' in change) return [change]
  const { offset, bytes } = change
  const pieces: Change[] = []
  for (let from = offset; from < offset + bytes.length; ) {
    const to = Math.min((Math.floor(from / sectorBytes) + 1) * sectorBytes, offset + bytes.length)
    if (random.below(2) === 0)
      pieces.push({ offset: from, bytes: bytes.subarray(from - offset, to - offset) })
    from = to
  }
  return pieces
}

function changed(content: Buffer, change: Change): Buffer {
  const size = 'size' in change ? change.size : Math.max(content.length, change.offset + change.bytes.length)
  const next = Buffer.alloc(size)
  content.copy(next)
  if ('bytes' in change) change.bytes.copy(next, change.offset)
  return next
}

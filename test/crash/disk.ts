import type { Random } from '../support/random.ts'
import type { Step } from './trace.ts'

/** The unit that a disk loses or keeps: each sector of a longer write may survive or not. */
const sectorBytes = 512

type Change = { readonly offset: number; readonly bytes: Buffer } | { readonly size: number }

/** The synced content of a file, and its changes since the last sync. */
interface File {
  synced: Buffer
  pending: Change[]
}

/** Which unsynced changes survive a power cut: none, all, or a random part. */
export type Survivors = 'none' | 'all' | Random

/**
 * A disk that guarantees only what was synced, replaying the trace of one folder. A file name is certain once its folder
 * was synced; changes of names keep their order.
 */
export class Disk {
  readonly #folder: string
  #names = new Map<string, File>()
  #keptNames = new Map<string, File>()
  #pendingNames: Map<string, File>[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Applies one step. Files of shared memory are ignored, because a power cut deletes them. */
  apply(step: Step): void {
    if (step.type === 'output') return
    if (step.type === 'link' || step.type === 'rename') {
      this.#link(step)
      return
    }
    const { path } = step
    if (step.type === 'sync' && path === this.#folder) {
      this.#keptNames = this.#pendingNames.at(-1) ?? this.#keptNames
      this.#pendingNames = []
    }
    if (!this.#isOurs(path)) return
    if (step.type === 'unlink') {
      this.#rename(names => names.delete(path))
      return
    }
    const file = this.#fileAt(path)
    if (step.type === 'sync') {
      file.synced = fileContent(file, 'all')
      file.pending = []
    } else if (step.type === 'truncate') file.pending.push({ size: step.size })
    else file.pending.push({ offset: step.offset ?? fileContent(file, 'all').length, bytes: step.bytes })
  }

  /** The possible content of the disk after the power cut: file contents by path. */
  image(survivors: Survivors): Map<string, Buffer> {
    const states = [this.#keptNames, ...this.#pendingNames]
    const ends = { none: 0, all: states.length - 1 }
    const names = states[typeof survivors === 'string' ? ends[survivors] : survivors.below(states.length)] ?? []
    return new Map([...names].map(([path, file]) => [path, fileContent(file, survivors)]))
  }

  #isOurs(path: string): boolean {
    return path.startsWith(`${this.#folder}/`) && !path.endsWith('-shm')
  }

  /** A rename is atomic: the file gets the new name and loses the old one at once. */
  #link({ type, from, to }: Extract<Step, { type: 'link' | 'rename' }>): void {
    if (!this.#isOurs(to)) return
    const file = this.#fileAt(from)
    this.#rename(names => {
      names.set(to, file)
      if (type === 'rename') names.delete(from)
    })
  }

  #fileAt(path: string): File {
    const known = this.#names.get(path)
    if (known) return known
    const created: File = { synced: Buffer.alloc(0), pending: [] }
    this.#rename(names => names.set(path, created))
    return created
  }

  #rename(change: (names: Map<string, File>) => void): void {
    this.#names = new Map(this.#names)
    change(this.#names)
    this.#pendingNames.push(this.#names)
  }
}

function fileContent({ synced, pending }: File, survivors: Survivors): Buffer {
  if (survivors === 'none') return synced
  const pieces = survivors === 'all' ? pending : pending.flatMap(change => tornPieces(change, survivors))
  return pieces.reduce(applyChange, synced)
}

/** Lets a change survive, be lost, or be torn: then each of its sectors survives or not. */
function tornPieces(change: Change, random: Random): Change[] {
  const fate = random.below(3)
  if (fate === 0) return []
  if (fate === 1 || 'size' in change) return [change]
  const { offset, bytes } = change
  const pieces: Change[] = []
  for (let from = offset; from < offset + bytes.length; ) {
    const to = Math.min((Math.floor(from / sectorBytes) + 1) * sectorBytes, offset + bytes.length)
    if (random.below(2) === 0) pieces.push({ offset: from, bytes: bytes.subarray(from - offset, to - offset) })
    from = to
  }
  return pieces
}

function applyChange(content: Buffer, change: Change): Buffer {
  const size = 'size' in change ? change.size : Math.max(content.length, change.offset + change.bytes.length)
  const next = Buffer.alloc(size)
  content.copy(next)
  if ('bytes' in change) change.bytes.copy(next, change.offset)
  return next
}

import { type HeaderShape, type MatchedHeader, shapeOf } from './header-shape.ts'
import type { Leaf } from './leaf.ts'
import { parseRecorded, type RecordedHeader } from './recorded-header.ts'

/**
 * Reads headers, most of which differ from an earlier one only in texts and numbers. Such a leaf is matched with the
 * form of that one, in a quarter of the time of parsing. Every other is parsed.
 */
export class HeaderReader {
  readonly #shapes = new Map<string, HeaderShape[]>()
  #count = 0
  #last: HeaderShape | undefined
  #streamAt: number | undefined

  /** Where the stream of the last header stands in the bytes of its leaf; `undefined` when it was parsed. */
  get streamAt(): number | undefined {
    return this.#streamAt
  }

  /** Reads the header of a leaf; `undefined` when its text is not a header. */
  read(leaf: Leaf): RecordedHeader | undefined {
    const matched = leaf.isPlain ? this.#match(leaf) : undefined
    this.#streamAt = matched?.streamAt
    return matched ?? this.#parse(leaf)
  }

  #match(leaf: Leaf): MatchedHeader | undefined {
    // Events of one kind often stand in a row.
    const again = this.#last?.read(leaf)
    if (again) return again
    for (const shape of this.#shapes.get(becauseIn(leaf.text)) ?? []) {
      const found = shape.read(leaf)
      if (!found) continue
      this.#last = shape
      return found
    }
    return undefined
  }

  #parse({ text, isPlain }: Leaf): RecordedHeader | undefined {
    const header = parseRecorded(text)
    if (isPlain && header && header.because === becauseIn(text)) this.#learn(text, header.because)
    return header
  }

  #learn(text: string, because: string): void {
    const shapes = this.#shapes.get(because) ?? []
    if (shapes.length >= shapesOfOneMax || this.#count >= shapesMax) return
    const shape = shapeOf(text)
    if (!shape) return
    shapes.push(shape)
    this.#count += 1
    this.#shapes.set(because, shapes)
  }
}

/** The type of the command in a text: it only tells which shapes to try. */
function becauseIn(text: string): string {
  const from = text.indexOf(becauseStart) + becauseStart.length
  return text.slice(from, text.indexOf('"', from))
}

const becauseStart = '"because":"'
const shapesOfOneMax = 8
const shapesMax = 256

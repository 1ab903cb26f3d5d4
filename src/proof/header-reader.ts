import { type HeaderShape, shapeOf } from './header-shape.ts'
import { parseRecorded, type RecordedHeader } from './recorded-header.ts'

/**
 * Reads headers, most of which differ from one before in nothing but strings and numbers. Such a text is matched by a
 * pattern that was made of that one, which takes less than half as long as parsing it. Every other text is parsed.
 */
export class HeaderReader {
  readonly #shapes = new Map<string, HeaderShape[]>()
  #count = 0
  #last: HeaderShape | undefined

  /** Reads a header; `undefined` when it is not the text of one. */
  read(text: string): RecordedHeader | undefined {
    if (text.length > textMax) return parseRecorded(text)
    // Events of one kind often stand in a row.
    const again = this.#last?.pattern.exec(text)
    if (this.#last && again) return this.#last.take(again)
    // What it says here only tells which patterns to try.
    const from = text.indexOf(becauseStart) + becauseStart.length
    const because = text.slice(from, text.indexOf('"', from))
    const shapes = this.#shapes.get(because) ?? []
    for (const shape of shapes) {
      const found = shape.pattern.exec(text)
      if (!found) continue
      this.#last = shape
      return shape.take(found)
    }
    const header = parseRecorded(text)
    if (header?.because === because) this.#learn(text, because, shapes)
    return header
  }

  #learn(text: string, because: string, shapes: HeaderShape[]): void {
    if (shapes.length >= shapesOfOneMax || this.#count >= shapesMax) return
    const shape = shapeOf(text)
    if (!shape) return
    shapes.push(shape)
    this.#count += 1
    this.#shapes.set(because, shapes)
  }
}

const becauseStart = '"because":"'
/** Longer texts are few, and their patterns would not be met again. */
const textMax = 4_096
const shapesOfOneMax = 8
const shapesMax = 256

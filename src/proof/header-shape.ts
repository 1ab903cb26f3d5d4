import { HeaderForm, type Hole } from './header-form.ts'
import type { Leaf } from './leaf.ts'
import { parseRecorded, type RecordedHeader } from './recorded-header.ts'

/** What the texts of many headers have in common: everything but the values of most strings and numbers. */
export interface HeaderShape {
  /** The header of a plain leaf of this shape; `undefined` for one of another. */
  read(leaf: Leaf): MatchedHeader | undefined
}

/** Makes the shape of a header's text; `undefined` where the text is not what its own value is written as. */
export function shapeOf(text: string): HeaderShape | undefined {
  const sample = parseRecorded(text)
  const value: unknown = sample && JSON.parse(text)
  // A text with blanks, or with a member twice, has a form that differs from its value.
  if (!sample || JSON.stringify(value) !== text) return undefined
  if (!areNumbersAndTexts(sample) || hasPathAsKey(value)) return undefined
  const writer = new FormWriter()
  writer.add(value, '')
  const slot = (path: string) => writer.taken.indexOf(path)
  const marks = sample.parts.map(({ name }, i) => ({
    name,
    bytes: slot(`/parts/${i}/bytes`),
    hash: slot(`/parts/${i}/hash`),
    owner: slot(`/parts/${i}/owner`),
  }))
  const slots = [slot('/at'), slot('/position'), slot('/stream'), slot('/version')] as const
  const all = [...slots, ...marks.flatMap(mark => [mark.bytes, mark.hash, mark.owner])]
  if (all.some(each => each < 0)) return undefined
  const { format, type, because, machine, anomaly } = sample
  const effects = sample.effects.map(effect => ({ type: effect.type }))
  const same = { format, type, because, machine, anomaly, effects, marks, slots }
  const form = new HeaderForm(writer.holes, writer.literal)
  return { read: leaf => (form.match(leaf) ? new MatchedHeader(same, form, leaf.text) : undefined) }
}

/** Reports whether what a match takes as a number or text is one: `"3"` is not a position. */
function areNumbersAndTexts({ position, version, parts }: RecordedHeader): boolean {
  if (typeof position !== 'number' || typeof version !== 'number') return false
  return parts.every(
    ({ bytes, hash, owner }) =>
      typeof bytes === 'number' && typeof hash === 'string' && typeof owner === 'string',
  )
}

/** Reports whether a key holds the separator of paths: a member `"parts/0/hash"` would have another's path. */
function hasPathAsKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => /[/~]/.test(key) || hasPathAsKey(member))
}

/** What every header of a shape has, and the slots of the rest. */
interface Same
  extends Pick<RecordedHeader, 'format' | 'type' | 'because' | 'machine' | 'anomaly' | 'effects'> {
  readonly marks: readonly { name: string; bytes: number; hash: number; owner: number }[]
  readonly slots: readonly [at: number, position: number, stream: number, version: number]
}

/** A header whose leaf matched: only what differs is made for each. Its data is parsed on demand, which is seldom. */
export class MatchedHeader implements RecordedHeader {
  readonly stream: string
  /** Where that stands in the bytes of its leaf. */
  readonly streamAt: number
  readonly at: string
  readonly position: number
  readonly version: number
  readonly parts: RecordedHeader['parts']
  readonly #same: Same
  readonly #text: string
  #data: RecordedHeader['data'] | undefined

  constructor(same: Same, form: HeaderForm, text: string) {
    this.#same = same
    this.#text = text
    this.at = textOf(form, text, same.slots[0])
    // Each slot was filled by the match.
    this.position = form.numbers[same.slots[1]] as number
    this.stream = textOf(form, text, same.slots[2])
    this.streamAt = 1 + (form.begins[same.slots[2]] as number)
    this.version = form.numbers[same.slots[3]] as number
    this.parts = same.marks.length === 0 ? none : partsOf(same.marks, form, text)
  }

  get format(): unknown {
    return this.#same.format
  }

  get type(): string {
    return this.#same.type
  }

  get because(): string {
    return this.#same.because
  }

  get machine(): RecordedHeader['machine'] {
    return this.#same.machine
  }

  get anomaly(): unknown {
    return this.#same.anomaly
  }

  get effects(): RecordedHeader['effects'] {
    return this.#same.effects
  }

  get data(): RecordedHeader['data'] {
    this.#data ??= parseRecorded(this.#text)?.data ?? {}
    return this.#data
  }
}

function textOf(form: HeaderForm, text: string, slot: number): string {
  return text.slice(form.begins[slot], form.ends[slot])
}

function partsOf(marks: Same['marks'], form: HeaderForm, text: string): RecordedHeader['parts'] {
  return marks.map(({ name, bytes, hash, owner }) => ({
    name,
    bytes: form.numbers[bytes] as number, // Filled by the match.
    hash: textOf(form, text, hash),
    owner: textOf(form, text, owner),
  }))
}

const none: readonly never[] = []

/** Members that differ between headers, and that a verifier looks at. */
const takenPaths = /^\/(at|position|stream|version|parts\/\d+\/(bytes|hash|owner))$/
/** Members that decide how a header is judged, with all that they contain: another value makes another shape. */
const samePaths = /^\/(format|type|because|machine|anomaly|effects\/\d+\/type|parts\/\d+\/name)(\/|$)/

/** Writes a value as JSON, with holes for what differs between headers. */
class FormWriter {
  readonly holes: Hole[] = []
  /** The paths of the values taken, by slot. */
  readonly taken: string[] = []
  /** What was written since the last hole. */
  literal = ''

  add(value: unknown, path: string): void {
    if (typeof value === 'object' && value !== null) {
      this.#addMembers(value, path)
      return
    }
    const isText = typeof value === 'string'
    const isOpen = (isText || Number.isSafeInteger(value)) && !samePaths.test(path)
    if (!isOpen) {
      this.literal += JSON.stringify(value)
      return
    }
    const slot = takenPaths.test(path) ? this.taken.push(path) - 1 : -1
    const quote = isText ? '"' : ''
    this.holes.push({ before: `${this.literal}${quote}`, isText, slot })
    this.literal = quote
  }

  #addMembers(value: object, path: string): void {
    const [begin, end] = Array.isArray(value) ? '[]' : '{}'
    this.literal += begin
    for (const [i, [key, member]] of Object.entries(value).entries()) {
      if (i > 0) this.literal += ','
      if (!Array.isArray(value)) this.literal += `${JSON.stringify(key)}:`
      this.add(member, `${path}/${key}`)
    }
    this.literal += end
  }
}

import { parseRecorded, type RecordedHeader } from './recorded-header.ts'

/** What the texts of many headers have in common: all but the values of most strings and numbers. */
export interface HeaderShape {
  /** Lets pass what is JSON of this form, and nothing else. */
  readonly pattern: RegExp
  /** The header of a text that the pattern let pass. */
  take(found: RegExpExecArray): RecordedHeader
}

/** Makes the shape of a header's text; `undefined` where it is not the text that its own value is written as. */
export function shapeOf(text: string): HeaderShape | undefined {
  const sample = parseRecorded(text)
  const value: unknown = sample && JSON.parse(text)
  // Of a text with blanks, or with a member twice, the pattern would say something else than its value does.
  if (!sample || JSON.stringify(value) !== text) return undefined
  if (!areNumbersAndTexts(sample) || hasPathAsKey(value)) return undefined
  const taken: string[] = []
  const source = patternOf(value, '', taken)
  const place = (path: string) => taken.indexOf(path) + 1
  const marks = sample.parts.map(({ name }, i) => ({
    name,
    bytes: place(`/parts/${i}/bytes`),
    hash: place(`/parts/${i}/hash`),
    owner: place(`/parts/${i}/owner`),
  }))
  const places = [place('/at'), place('/position'), place('/stream'), place('/version')] as const
  const isWhole = [...places, ...marks.flatMap(mark => [mark.bytes, mark.hash, mark.owner])].every(
    at => at > 0,
  )
  if (!isWhole) return undefined
  const { format, type, because, machine, anomaly } = sample
  const effects = sample.effects.map(effect => ({ type: effect.type }))
  const same = { format, type, because, machine, anomaly, effects, marks, places }
  return { pattern: new RegExp(`^${source}$`), take: found => new MatchedHeader(same, found) }
}

/** Reports whether what is taken from a match, as a number or as text, is one: `"3"` is no position. */
function areNumbersAndTexts({ position, version, parts }: RecordedHeader): boolean {
  if (typeof position !== 'number' || typeof version !== 'number') return false
  return parts.every(
    ({ bytes, hash, owner }) =>
      typeof bytes === 'number' && typeof hash === 'string' && typeof owner === 'string',
  )
}

/** Reports whether a key holds what separates the keys of a path: a member `"parts/0/hash"` has the path of another. */
function hasPathAsKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => /[/~]/.test(key) || hasPathAsKey(member))
}

/** What every header of a shape has, and where in a match the rest stands. */
interface Same
  extends Pick<RecordedHeader, 'format' | 'type' | 'because' | 'machine' | 'anomaly' | 'effects'> {
  readonly marks: readonly { name: string; bytes: number; hash: number; owner: number }[]
  readonly places: readonly [at: number, position: number, stream: number, version: number]
}

/** A header whose text matched: only what differs is made for each. Its data is parsed when somebody asks, which is seldom. */
class MatchedHeader implements RecordedHeader {
  readonly stream: string
  readonly at: string
  readonly parts: RecordedHeader['parts']
  readonly #same: Same
  readonly #found: RegExpExecArray
  #data: RecordedHeader['data'] | undefined

  constructor(same: Same, found: RegExpExecArray) {
    this.#same = same
    this.#found = found
    this.at = found[same.places[0]] ?? ''
    this.stream = found[same.places[2]] ?? ''
    this.parts = same.marks.length === 0 ? none : partsOf(same.marks, found)
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

  get position(): number {
    return Number(this.#found[this.#same.places[1]])
  }

  get version(): number {
    return Number(this.#found[this.#same.places[3]])
  }

  get data(): RecordedHeader['data'] {
    this.#data ??= parseRecorded(this.#found.input)?.data ?? {}
    return this.#data
  }
}

function partsOf(marks: Same['marks'], found: RegExpExecArray): RecordedHeader['parts'] {
  return marks.map(({ name, bytes, hash, owner }) => ({
    name,
    bytes: Number(found[bytes]),
    hash: found[hash] ?? '',
    owner: found[owner] ?? '',
  }))
}

const none: readonly never[] = []

/** Members that differ from header to header, and that a verifier looks at. */
const takenPaths = /^\/(at|position|stream|version|parts\/\d+\/(bytes|hash|owner))$/
/** Members that decide how a header is judged, with all that is in them: another value is another shape. */
const samePaths = /^\/(format|type|because|machine|anomaly|effects\/\d+\/type|parts\/\d+\/name)(\/|$)/
const anyText = '[^"\\\\\\x00-\\x1f]*'
const anyNumber = '0|-?[1-9]\\d{0,14}'

/** The pattern of a value, adding the paths of what it captures in order. */
function patternOf(value: unknown, path: string, taken: string[]): string {
  if (typeof value === 'object' && value !== null) return patternOfMembers(value, path, taken)
  const isOpen = (typeof value === 'string' || Number.isSafeInteger(value)) && !samePaths.test(path)
  if (!isOpen) return escape(JSON.stringify(value))
  const isTaken = takenPaths.test(path)
  if (isTaken) taken.push(path)
  const group = isTaken ? '(' : '(?:'
  return typeof value === 'string' ? `"${group}${anyText})"` : `${group}${anyNumber})`
}

function patternOfMembers(value: object, path: string, taken: string[]): string {
  const written: string[] = []
  for (const [key, member] of Object.entries(value)) {
    const pattern = patternOf(member, `${path}/${key}`, taken)
    written.push(Array.isArray(value) ? pattern : `${escape(JSON.stringify(key))}:${pattern}`)
  }
  return Array.isArray(value) ? `\\[${written.join()}\\]` : `\\{${written.join()}\\}`
}

/** The pattern of exactly this text. */
function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}

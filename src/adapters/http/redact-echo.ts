import { isCpf } from '../../vocabulary/tax-numbers.ts'

const mask = '***'

/** Headers that are never credentials. Any other may be one: how a host authenticates is not known. */
const harmlessHeaders: ReadonlySet<string> = new Set(['accept', 'content-type', 'role-type'])
const schemes = /^(bearer|basic|digest|negotiate|token)$/i

/** A shorter secret would be found in any text. */
const secretMin = 4
/** A shorter secret counts only as a whole word. */
const wholeWordBelow = 8

/**
 * Returns a function that masks in an answer what its request sent: headers except harmless ones, secrets of the body,
 * and CPFs. Gateways and portals quote in their errors what they refuse. It finds values and their words, also escaped
 * as in JSON, XML or a URL, and a CPF with any punctuation, but no part of a value, and none under four characters.
 */
export function redactEcho(request: Request, sensitive: readonly string[] = []): (text: string) => string {
  const headers = [...request.headers].filter(([name]) => !harmlessHeaders.has(name))
  const sent = [...headers.flatMap(([, value]) => headerSecrets(value)), ...sensitive]
  const secrets = new Set(sent.filter(word => word.length >= secretMin && !schemes.test(word)))
  const cpfs = new Set(`${request.url} ${sensitive.join(' ')}`.match(/(?<!\d)\d{11}(?!\d)/g)?.filter(isCpf))
  const escapables = new Map<string, Escapable>()
  return text =>
    maskAll(text, [...secrets].map(each => soughtSecret(each, escapables)).concat([...cpfs].map(soughtCpf)))
}

/** A header's value, its words, and the parts of Basic credentials. */
function headerSecrets(value: string): string[] {
  const [, credentials = ''] = /^basic\s+(\S+)$/i.exec(value) ?? []
  const pair = Buffer.from(credentials, 'base64').toString()
  return [value, ...value.split(/[\s;,]+/), ...value.split(/[\s;,=]+/), pair, ...pair.split(':')]
}

/** A secret as its characters, or a CPF as its digits with gaps between them. */
interface Sought {
  readonly pieces: readonly Piece[]
  readonly isWholeWord: boolean
  /** The characters that it may begin with. */
  readonly starts: readonly string[]
}

/** Letters and digits, which are never escaped; another character with its escapes; or the punctuation in a CPF. */
type Piece = { readonly kind: 'plain'; readonly units: Uint16Array } | Escapable | { readonly kind: 'gap' }

interface Escapable {
  readonly kind: 'escapable'
  readonly units: Uint16Array
  readonly inJson: Uint16Array
  readonly inAddress: readonly Uint16Array[]
}

function soughtSecret(secret: string, escapables: Map<string, Escapable>): Sought {
  const runs = secret.match(/[a-zA-Z0-9]+|[^a-zA-Z0-9]/gu) ?? []
  const pieces = runs.map(run => (/^[a-zA-Z0-9]/.test(run) ? plain(run) : escapable(run, escapables)))
  const start = String.fromCharCode(...foldUnits(secret.slice(0, 1)))
  return {
    pieces,
    isWholeWord: secret.length < wholeWordBelow,
    starts: pieces[0]?.kind === 'escapable' ? [start, '\\', '%', '&', '+'] : [start],
  }
}

function plain(text: string): Piece {
  return { kind: 'plain', units: foldUnits(text) }
}

function escapable(character: string, known: Map<string, Escapable>): Escapable {
  const made = known.get(character)
  if (made) return made
  const code = (character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')
  const inAddress = Buffer.from(character).toString('hex').replace(/../g, '%$&')
  const escapable: Escapable = {
    kind: 'escapable',
    units: foldUnits(character),
    inJson: foldUnits(`u${code}`),
    inAddress: (character === ' ' ? [inAddress, '+'] : [inAddress]).map(foldUnits),
  }
  known.set(character, escapable)
  return escapable
}

function soughtCpf(cpf: string): Sought {
  const pieces = [...cpf].flatMap((digit): Piece[] => [{ kind: 'gap' }, plain(digit)]).slice(1)
  return { pieces, isWholeWord: false, starts: [cpf.slice(0, 1)] }
}

/** Whoever chooses both token and answer can make them match almost everywhere: such an answer is masked whole. */
const stepsMin = 500_000
const stepsPerCharacter = 2

/** Masks everything that is found. The time is linear in the lengths of the text and of what is sought. */
function maskAll(text: string, sought: readonly Sought[]): string {
  const byStart = new Map<number, Sought[]>()
  for (const each of sought) {
    for (const start of new Set(each.starts)) {
      const unit = start.charCodeAt(0)
      byStart.set(unit, [...(byStart.get(unit) ?? []), each])
    }
  }
  const isStart = new Uint8Array(65_536)
  for (const unit of byStart.keys()) isStart[unit] = 1
  const search = new EchoSearch(text)
  let shown = ''
  let hiddenTo = 0
  for (let at = 0; at < text.length; at++) {
    const unit = search.units[at] ?? 0
    if (!isStart[unit]) continue
    const end = search.longest(at, byStart.get(unit) ?? [])
    if (search.isTooLong) return mask
    if (end <= hiddenTo) continue
    if (at >= hiddenTo) shown += text.slice(hiddenTo, at) + mask
    hiddenTo = end
  }
  return shown + text.slice(hiddenTo)
}

/** The cost of looking for an escape or at a character's class, in comparisons of two characters. */
const slowStep = 20

/** Finds what is sought in a text, and counts its steps. Escapes are ambiguous, so a match may have several ends. */
class EchoSearch {
  readonly #text: string
  /** The text, folded. */
  readonly units: Uint16Array
  #stepsLeft: number

  constructor(text: string) {
    this.#text = text
    this.units = foldUnits(text)
    this.#stepsLeft = stepsMin + stepsPerCharacter * text.length
  }

  get isTooLong(): boolean {
    return this.#stepsLeft < 0
  }

  /** The end of the longest match that begins here; 0 when there is none. */
  longest(start: number, sought: readonly Sought[]): number {
    let longest = 0
    for (const { pieces, isWholeWord } of sought) {
      const [first] = pieces
      // Almost all end here: this is fast.
      if (first?.kind === 'plain' && !this.#isAt(first.units, start)) continue
      if (isWholeWord && this.#isWordBefore(start)) continue
      let ends = [start]
      for (const piece of pieces) {
        const next: number[] = []
        for (const end of ends) this.#addEnds(piece, end, next)
        ends = next.length > 1 ? [...new Set(next)] : next
        if (ends.length === 0 || this.isTooLong) break
      }
      for (const end of ends) if (end > longest && !(isWholeWord && this.#isWordAt(end))) longest = end
    }
    return longest
  }

  #addEnds(piece: Piece, at: number, ends: number[]): void {
    if (piece.kind === 'plain') this.#addEnd(piece.units, at, ends)
    else if (piece.kind === 'gap') this.#addEndsOfGap(at, ends)
    else this.#addEndsOfEscapable(piece, at, ends)
  }

  #addEndsOfEscapable(piece: Escapable, at: number, ends: number[]): void {
    this.#stepsLeft -= slowStep
    for (const units of piece.inAddress) this.#addEnd(units, at, ends)
    if (this.#text[at] === '&') this.#addEndOfEntity(at, ends)
    // A character may follow the backslashes of JSON, also of JSON in JSON.
    for (let from = at; from <= at + 3; from++) {
      this.#addEnd(piece.units, from, ends)
      if (this.#text[from] !== '\\') break
      this.#addEnd(piece.inJson, from + 1, ends)
    }
  }

  #addEnd(sought: Uint16Array, at: number, ends: number[]): void {
    if (this.#isAt(sought, at)) ends.push(at + sought.length)
  }

  #isAt(sought: Uint16Array, at: number): boolean {
    let i = 0
    while (i < sought.length && this.units[at + i] === sought[i]) i += 1
    this.#stepsLeft -= i + 1
    return i === sought.length
  }

  /** Any entity of HTML or XML counts as the character. */
  #addEndOfEntity(at: number, ends: number[]): void {
    const [entity] = /^&#?\w{1,8};/iu.exec(this.#text.slice(at, at + 11)) ?? []
    if (entity !== undefined) ends.push(at + entity.length)
  }

  /** Up to three characters of punctuation, or one that is escaped as in a URL. */
  #addEndsOfGap(at: number, ends: number[]): void {
    let end = at
    for (let count = 0; count <= 3; count++) {
      ends.push(end)
      if (end >= this.#text.length || this.#isWordAt(end)) break
      end += String.fromCodePoint(this.#text.codePointAt(end) ?? 0).length
    }
    if (/^%[0-9a-f]{2}/i.test(this.#text.slice(at, at + 3))) ends.push(at + 3)
  }

  #isWordAt(at: number): boolean {
    this.#stepsLeft -= slowStep
    return /^[\p{L}\p{N}]/u.test(this.#text.slice(at, at + 2))
  }

  #isWordBefore(at: number): boolean {
    const isPair = (this.#text.codePointAt(at - 2) ?? 0) > 0xffff
    return at > 0 && this.#isWordAt(isPair ? at - 2 : at - 1)
  }
}

/** Characters without their case, as a regular expression ignores it. 0: not folded yet. */
const folded = new Uint16Array(65_536)

/** Folds each UTF-16 unit to one unit, so that places in the text stay the same. */
function foldUnits(text: string): Uint16Array {
  const units = new Uint16Array(text.length)
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    units[i] = folded[unit] || foldUnit(unit)
  }
  return units
}

function foldUnit(unit: number): number {
  const character = String.fromCharCode(unit)
  const upper = character.toUpperCase()
  const lower = (upper.length === 1 ? upper : character).toLowerCase()
  folded[unit] = lower.length === 1 ? lower.charCodeAt(0) : unit
  return folded[unit]
}

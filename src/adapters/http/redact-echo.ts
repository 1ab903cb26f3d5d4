import { isCpf } from '../../vocabulary/cpf.ts'

const shown = '***'

/** Headers that say nothing about the sender. Any other may be a credential: how a host authenticates is not known. */
const harmlessHeaders: ReadonlySet<string> = new Set(['accept', 'content-type', 'role-type'])
const schemes = /^(bearer|basic|digest|negotiate|token)$/i

/** Anything shorter would be found in any text. */
const secretMin = 4
/** A shorter secret counts only where it stands by itself. */
const longMin = 8

/**
 * Makes the function that hides in an answer what its request carried: every header except harmless ones, the secrets
 * in its body, and every CPF. Gateways and portals quote in their errors what they refuse. Found are the value and its
 * words, also escaped as in JSON, XML or an address, and a CPF with any punctuation; not a part of a value, nor what is
 * shorter than four characters.
 */
export function redactEcho(request: Request, carried: readonly string[] = []): (text: string) => string {
  const headers = [...request.headers].filter(([name]) => !harmlessHeaders.has(name))
  const sent = [...headers.flatMap(([, value]) => wordsOf(value)), ...carried]
  const secrets = new Set(sent.filter(word => word.length >= secretMin && !schemes.test(word)))
  const cpfs = new Set(`${request.url} ${carried.join(' ')}`.match(/(?<!\d)\d{11}(?!\d)/g)?.filter(isCpf))
  return text => {
    // The pattern of a token takes milliseconds to compile, and most refusals quote nothing.
    const folded = text.toLowerCase().replaceAll('ſ', 's')
    const digits = text.match(/\d/g)?.length ?? 0
    const patterns = [
      ...[...secrets]
        .filter(secret => folded.includes(longestWord(secret)))
        .toSorted((a, b) => b.length - a.length)
        .map(patternOf),
      ...[...cpfs].filter(cpf => cpf.length <= digits).map(cpfPattern),
    ]
    return patterns.length === 0 ? text : text.replace(new RegExp(patterns.join('|'), 'giu'), shown)
  }
}

/** A header's value, its words, and what its Basic credentials are made of. */
function wordsOf(value: string): string[] {
  const [, credentials = ''] = /^basic\s+(\S+)$/i.exec(value) ?? []
  const pair = Buffer.from(credentials, 'base64').toString()
  return [value, ...value.split(/[\s;,]+/), ...value.split(/[\s;,=]+/), pair, ...pair.split(':')]
}

/** What stands as it is wherever the secret does, whatever form the rest of it has. */
function longestWord(secret: string): string {
  const words = secret.match(/[a-z0-9]+/gi) ?? []
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest), '').toLowerCase()
}

function patternOf(secret: string): string {
  const pattern = [...secret].map(formsOf).join('')
  return secret.length < longMin ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern
}

/** A character as it is, after the backslashes of JSON, or as an escape of JSON, of a URL or of XML. */
function formsOf(character: string): string {
  if (/[a-z0-9]/i.test(character)) return character
  const code = (character.codePointAt(0) ?? 0).toString(16)
  const inAddress = Buffer.from(character).toString('hex').replace(/../g, '%$&')
  const others = character === ' ' ? '|\\+' : ''
  return `(?:\\\\{0,3}\\u{${code}}|\\\\{1,3}u${code.padStart(4, '0')}|${inAddress}|&#?\\w{1,8};${others})`
}

/** Its digits, with what people, addresses and forms write between them. */
function cpfPattern(cpf: string): string {
  return [...cpf].join('(?:[^\\p{L}\\p{N}]{0,3}|%[0-9a-f]{2})')
}

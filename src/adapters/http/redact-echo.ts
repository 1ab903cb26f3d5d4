import { isCpf } from '../../vocabulary/cpf.ts'

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
 * as in JSON, XML or a URL, and a CPF with any punctuation, but no part of a value, and none shorter than four
 * characters.
 */
export function redactEcho(request: Request, sensitive: readonly string[] = []): (text: string) => string {
  const headers = [...request.headers].filter(([name]) => !harmlessHeaders.has(name))
  const sent = [...headers.flatMap(([, value]) => headerSecrets(value)), ...sensitive]
  const secrets = new Set(sent.filter(word => word.length >= secretMin && !schemes.test(word)))
  const cpfs = new Set(`${request.url} ${sensitive.join(' ')}`.match(/(?<!\d)\d{11}(?!\d)/g)?.filter(isCpf))
  return text => {
    // Compiling a pattern takes milliseconds, and most refusals quote nothing.
    const folded = text.toLowerCase().replaceAll('ſ', 's')
    const digits = text.match(/\d/g)?.length ?? 0
    const patterns = [
      ...[...secrets]
        .filter(secret => folded.includes(longestWord(secret)))
        .toSorted((a, b) => b.length - a.length)
        .map(secretPattern),
      ...[...cpfs].filter(cpf => cpf.length <= digits).map(cpfPattern),
    ]
    return patterns.length === 0 ? text : text.replace(new RegExp(patterns.join('|'), 'giu'), mask)
  }
}

/** A header's value, its words, and the parts of Basic credentials. */
function headerSecrets(value: string): string[] {
  const [, credentials = ''] = /^basic\s+(\S+)$/i.exec(value) ?? []
  const pair = Buffer.from(credentials, 'base64').toString()
  return [value, ...value.split(/[\s;,]+/), ...value.split(/[\s;,=]+/), pair, ...pair.split(':')]
}

/** The longest run of letters and digits: these are never escaped, so it appears in every form of the secret. */
function longestWord(secret: string): string {
  const words = secret.match(/[a-z0-9]+/gi) ?? []
  return words.reduce((longest, word) => (word.length > longest.length ? word : longest), '').toLowerCase()
}

function secretPattern(secret: string): string {
  const pattern = [...secret].map(characterPattern).join('')
  return secret.length < wholeWordBelow ? `(?<![\\p{L}\\p{N}])${pattern}(?![\\p{L}\\p{N}])` : pattern
}

/** Matches a character itself, also after the backslashes of JSON, or its escape in JSON, a URL or XML. */
function characterPattern(character: string): string {
  if (/[a-z0-9]/i.test(character)) return character
  const code = (character.codePointAt(0) ?? 0).toString(16)
  const inAddress = Buffer.from(character).toString('hex').replace(/../g, '%$&')
  const others = character === ' ' ? '|\\+' : ''
  return `(?:\\\\{0,3}\\u{${code}}|\\\\{1,3}u${code.padStart(4, '0')}|${inAddress}|&#?\\w{1,8};${others})`
}

/** Matches the digits with up to three punctuation characters, or a URL escape, in between. */
function cpfPattern(cpf: string): string {
  return [...cpf].join('(?:[^\\p{L}\\p{N}]{0,3}|%[0-9a-f]{2})')
}

import { type LoadMessage, parseMessages } from './load.ts'

/** A file operation of a traced program, or its output. Paths are absolute. */
export type Step =
  | { readonly type: 'write'; readonly path: string; readonly offset: number | undefined; readonly bytes: Buffer }
  | { readonly type: 'truncate'; readonly path: string; readonly size: number }
  | { readonly type: 'link'; readonly from: string; readonly to: string }
  | { readonly type: 'rename'; readonly from: string; readonly to: string }
  | { readonly type: 'sync'; readonly path: string }
  | { readonly type: 'unlink'; readonly path: string }
  | { readonly type: 'output'; readonly messages: readonly LoadMessage[] }

const callPattern = /^(\w+)\((.*)\)\s+= (-?\d+)/
const descriptorPattern = /^(\d+)<([^>]*)>/
const textPattern = /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g

/** Parses the output of strace, without failed calls and calls that use no file. */
export function readTrace(lines: readonly string[]): Step[] {
  return lines.flatMap(line => {
    const [, name = '', given = '', result = ''] = callPattern.exec(line) ?? []
    return name === '' || result.startsWith('-') ? [] : toSteps(name, given, line)
  })
}

function toSteps(name: string, given: string, line: string): Step[] {
  const texts = [...given.matchAll(textPattern)].map(([, hex = '', isCut]) => {
    if (isCut) throw new TypeError('Cannot read the trace: strace cut the data short')
    return decodeHex(hex)
  })
  const [first, second] = texts
  const [, number = '', hexPath = ''] = descriptorPattern.exec(given) ?? []
  const path = decodeHex(hexPath).toString()
  const last = Number(given.slice(given.lastIndexOf(',') + 1))
  switch (name) {
    case 'write':
      if (number === '1') return [{ type: 'output', messages: parseMessages(String(first)) }]
      return first && path.startsWith('/') ? [{ type: 'write', path, offset: undefined, bytes: first }] : []
    case 'pwrite64':
      return first ? [{ type: 'write', path, offset: last, bytes: first }] : []
    case 'ftruncate':
      return [{ type: 'truncate', path, size: last }]
    case 'fsync':
    case 'fdatasync':
      return [{ type: 'sync', path }]
    case 'link':
    case 'rename':
      return [{ type: name, from: String(first), to: String(second) }]
    case 'unlink':
      return [{ type: 'unlink', path: String(first) }]
    default:
      throw new TypeError(`Cannot read the trace: ${line.slice(0, 80)}`)
  }
}

/** Decodes a path or data written as `\x61\x62`. Names of other descriptors, such as `pipe:[1]`, are written so too. */
export function decodeHex(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
}

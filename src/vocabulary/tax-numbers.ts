import { AverbaError } from './errors.ts'

/** A CPF (taxpayer number of a person): eleven digits with correct check digits, without punctuation. */
export type Cpf = string & { readonly cpf: unique symbol }

/** Checks that the text is eleven digits, not all equal, with correct check digits. */
export function isCpf(text: unknown): text is Cpf {
  if (typeof text !== 'string' || !/^\d{11}$/.test(text) || /^(\d)\1{10}$/.test(text)) return false
  return checkDigit(text, 9, 10) === text[9] && checkDigit(text, 10, 10) === text[10]
}

/**
 * Reads a CPF, with or without the usual punctuation. Leading zeros must be there.
 *
 * @throws {AverbaError} `INVALID_CPF`, without the value
 */
export function parseCpf(text: string): Cpf {
  const digits = /^\d{3}\.\d{3}\.\d{3}-\d{2}$/.test(text) ? text.replace(/[.-]/g, '') : text
  if (isCpf(digits)) return digits
  throw new AverbaError('INVALID_CPF', 'Cannot read the CPF: its form or its check digits are wrong', {
    hint: 'Give eleven digits, leading zeros included, such as 00000000191',
  })
}

/** What people and programs write between the digits: full stops, dashes of any kind, slashes, spaces. */
const separator = String.raw`[.\-/_\s\p{Pd}\u2212\p{Cf}]`
const firstNineDigits = String.raw`(?:\d{9}|\d{3}${separator}{1,2}\d{3}${separator}{1,2}\d{3})`
const cpfPattern = new RegExp(String.raw`(?<!\d)${firstNineDigits}${separator}{0,2}\d{2}(?!\d)`, 'gu')
/** Eleven digits in a hexadecimal text of this length are part of a digest or a UUID, and a CPF only by chance. */
const hexLengthMin = 32

/**
 * Checks whether the text contains something that looks like a CPF: eleven digits with correct check digits that are
 * not part of a longer number. Up to two separators may stand before the check digits, and after the third and the
 * sixth digit. Percent-encoded and full-width digits count too.
 *
 * One in a hundred other numbers of this form, such as `192.168.100.12`, counts as a CPF by chance. Times, UUIDs and
 * hexadecimal digests do not.
 */
export function holdsCpf(text: string): boolean {
  return containsCpf(text) || (text.includes('%') && containsCpf(decodePercentEncoding(text)))
}

function containsCpf(text: string): boolean {
  const plain = /[^\0-\x7f]/.test(text) ? text.normalize('NFKC') : text
  for (const { 0: candidate, index } of plain.matchAll(cpfPattern))
    if (isCpf(candidate.replace(/\D/g, '')) && !isInHex(plain, index, candidate.length)) return true
  return false
}

/** Masks each CPF in a text except its middle, but for one that is `own`. */
export function maskCpfs(text: string, own?: string): string {
  return text.replace(cpfPattern, (found, index: number) => {
    const digits = found.replace(/\D/g, '')
    if (!isCpf(digits) || digits === own || isInHex(text, index, found.length)) return found
    return `***.${digits.slice(3, 6)}.${digits.slice(6, 9)}-**`
  })
}

function isInHex(text: string, index: number, length: number): boolean {
  // Backwards, since a pattern that ends at the candidate would be tried from every character before it.
  const reversed = [...text.slice(Math.max(0, index - hexLengthMin), index)].reverse().join('')
  const [before = '', after = ''] = [reversed, text.slice(index + length, index + length + hexLengthMin)].map(
    side => /^[\da-f-]*/i.exec(side)?.[0] ?? '',
  )
  return before.length + length + after.length >= hexLengthMin && /[a-f]/i.test(before + after)
}

function decodePercentEncoding(text: string): string {
  return text.replace(/(?:%[\da-f]{2})+/gi, encoded => {
    try {
      return decodeURIComponent(encoded)
    } catch {
      return encoded
    }
  })
}

/**
 * Refuses a host's id that contains a CPF: ids stay in the log unencrypted.
 *
 * @throws {AverbaError} `PERSONAL_ID`, without the value
 */
export function refusePersonalId(id: string, what: string): void {
  if (!holdsCpf(id)) return
  throw new AverbaError('PERSONAL_ID', `Cannot use the ${what}: it contains a CPF`, {
    hint: 'Use a random id: ids stay in the log unencrypted',
  })
}

/** From the right, the weights begin at 2 and repeat after `cycle`. A character's value is its ASCII code less 48. */
function checkDigit(text: string, length: number, cycle: number): string {
  let sum = 0
  for (let i = 0; i < length; i++) sum += (text.charCodeAt(i) - 48) * (((length - 1 - i) % cycle) + 2)
  const rest = sum % 11
  return rest < 2 ? '0' : String(11 - rest)
}

/** A CNPJ (company number): twelve digits or capital letters and two check digits, without punctuation. */
export type Cnpj = string & { readonly cnpj: unique symbol }

/** Checks that the text is a CNPJ, in the old numeric form or in the alphanumeric form of July 2026. */
export function isCnpj(text: string): text is Cnpj {
  if (!/^[0-9A-Z]{12}\d{2}$/.test(text) || /^(\w)\1{13}$/.test(text)) return false
  return checkDigit(text, 12, 8) === text[12] && checkDigit(text, 13, 8) === text[13]
}

/** Reads a CNPJ with or without the usual punctuation; `undefined` for any other text. */
export function readCnpj(text: string): Cnpj | undefined {
  const masked = /^[0-9A-Z]{2}\.[0-9A-Z]{3}\.[0-9A-Z]{3}\/[0-9A-Z]{4}-\d{2}$/
  const plain = masked.test(text) ? text.replace(/[./-]/g, '') : text
  return isCnpj(plain) ? plain : undefined
}

/** Reads a CNPJ, with or without the usual punctuation. Letters must be capitals. Throws `INVALID_CNPJ`. */
export function parseCnpj(text: string): Cnpj {
  const cnpj = readCnpj(text)
  if (cnpj !== undefined) return cnpj
  throw new AverbaError('INVALID_CNPJ', 'Cannot read the CNPJ: its form or its check digits are wrong', {
    hint: 'Give twelve digits or capital letters and two check digits, such as 12ABC34501DE35',
  })
}

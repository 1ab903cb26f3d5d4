import { AverbaError } from './errors.ts'

/** A CNPJ (company number): twelve digits or capital letters and two check digits, without punctuation. */
export type Cnpj = string & { readonly cnpj: unique symbol }

/** Checks that the text is a CNPJ, in the old numeric form or in the alphanumeric form of July 2026. */
export function isCnpj(text: string): text is Cnpj {
  if (!/^[0-9A-Z]{12}\d{2}$/.test(text) || /^(\w)\1{13}$/.test(text)) return false
  return checkDigit(text, 12) === text[12] && checkDigit(text, 13) === text[13]
}

/** Reads a CNPJ with or without the usual punctuation; `undefined` for any other text. */
export function readCnpj(text: string): Cnpj | undefined {
  const masked = /^[0-9A-Z]{2}\.[0-9A-Z]{3}\.[0-9A-Z]{3}\/[0-9A-Z]{4}-\d{2}$/
  const plain = masked.test(text) ? text.replace(/[./-]/g, '') : text
  return isCnpj(plain) ? plain : undefined
}

/**
 * Reads a CNPJ, with or without the usual punctuation. Letters must be capitals.
 *
 * @throws {AverbaError} `INVALID_CNPJ`
 */
export function parseCnpj(text: string): Cnpj {
  const cnpj = readCnpj(text)
  if (cnpj !== undefined) return cnpj
  throw new AverbaError('INVALID_CNPJ', 'Cannot read the CNPJ: its form or its check digits are wrong', {
    hint: 'Give twelve digits or capital letters and two check digits, such as 12ABC34501DE35',
  })
}

function checkDigit(text: string, length: number): string {
  let sum = 0
  // From the right, the weights repeat 2 to 9. A character's value is its ASCII code less 48.
  for (let i = 0; i < length; i++) sum += (text.charCodeAt(i) - 48) * (((length - 1 - i) % 8) + 2)
  const rest = sum % 11
  return rest < 2 ? '0' : String(11 - rest)
}

import { AverbaError } from './errors.ts'

/** A CPF: eleven digits with correct check digits, without punctuation. */
export type Cpf = string & { readonly cpf: unique symbol }

/** Reports whether the text is eleven digits, not all equal, with correct check digits. */
export function isCpf(text: string): text is Cpf {
  if (!/^\d{11}$/.test(text) || /^(\d)\1{10}$/.test(text)) return false
  return checkDigit(text, 9) === text[9] && checkDigit(text, 10) === text[10]
}

/**
 * Reads a CPF, with or without the usual punctuation. Leading zeros are never supplied.
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

/**
 * Reports whether something that looks like a CPF stands in the text: eleven digits that are not part of a
 * longer number, plain or with the usual punctuation, with correct check digits.
 */
export function holdsCpf(text: string): boolean {
  const candidates = text.match(/(?<!\d)(\d{11}|\d{3}\.\d{3}\.\d{3}-\d{2})(?!\d)/g) ?? []
  return candidates.some(candidate => isCpf(candidate.replace(/[.-]/g, '')))
}

/**
 * Refuses an id given by the host that holds a CPF, since ids are kept in clear for ever.
 *
 * @throws {AverbaError} `PERSONAL_ID`, without the value
 */
export function refusePersonalId(id: string, what: string): void {
  if (!holdsCpf(id)) return
  throw new AverbaError('PERSONAL_ID', `Cannot use the ${what}: it holds a CPF`, {
    hint: 'Ids are kept in clear for ever. Use a random one',
  })
}

function checkDigit(digits: string, length: number): string {
  let sum = 0
  for (let i = 0; i < length; i++) sum += Number(digits[i]) * (length + 1 - i)
  const rest = sum % 11
  return rest < 2 ? '0' : String(11 - rest)
}

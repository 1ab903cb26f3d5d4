/** Creates a CPF with valid check digits, a different one for each number below 1,000,000,000. */
export function cpfOf(number: number): string {
  const digits = [...String(number % 1_000_000_000).padStart(9, '0')].map(Number)
  for (const length of [9, 10]) {
    const sum = digits.slice(0, length).reduce((total, digit, i) => total + digit * (length + 1 - i), 0)
    digits.push(((sum * 10) % 11) % 10)
  }
  return digits.join('')
}

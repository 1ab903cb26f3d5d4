/** A base address or a path, ready for what is put behind it. */
export function withoutEndSlashes(address: string): string {
  return address.replace(/\/+$/, '')
}

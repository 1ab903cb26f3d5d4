import { nodeHashHex } from '../../src/proof/compact-tree.ts'

/** The root over a range of leaves as RFC 6962, section 2.1, defines it. It shares only the hash with what is tested. */
export function rootsOver(leaves: readonly string[]): (from: number, to: number) => string {
  const known = new Map<string, string>()
  const rootOf = (from: number, to: number): string => {
    if (to - from === 1) return leaves[from] ?? ''
    const name = `${from}-${to}`
    let split = 1
    while (split * 2 < to - from) split *= 2
    const root = known.get(name) ?? nodeHashHex(rootOf(from, from + split), rootOf(from + split, to))
    known.set(name, root)
    return root
  }
  return rootOf
}

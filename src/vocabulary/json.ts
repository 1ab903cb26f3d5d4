import type { Json } from './message.ts'

/** How deep JSON may be nested: `JSON.stringify` would overflow the stack on much deeper values. */
const depthMax = 100

/** Parses JSON; `undefined` when the text is invalid or nested too deeply. */
export function parseJson(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text)
    return isShallow(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Goes level by level instead of recursing, to use no stack. */
function isShallow(value: Json): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; depth <= depthMax; depth++) {
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []))
    if (level.length === 0) return true
  }
  return false
}

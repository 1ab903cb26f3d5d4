/** How deep JSON may be nested: a deeper text could not be written again, since writing needs the stack. */
const depthMax = 100

/** Reads JSON; `undefined` when the text is something else, or nested too deeply. */
export function parseJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isShallow(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Goes level by level, so that depth costs no stack. */
function isShallow(value: unknown): boolean {
  let level = [value]
  for (let depth = 0; depth <= depthMax; depth++) {
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []))
    if (level.length === 0) return true
  }
  return false
}

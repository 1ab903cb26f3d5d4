/** Tells a person at a terminal how far a long piece of work has come; programs are told nothing. */
export function createProgress(): (what: string, done: number, end: number) => void {
  if (!process.stderr.isTTY) return () => undefined
  let shown = ''
  return (what, done, end) => {
    const text = `${what} ${end === 0 ? 100 : Math.floor((100 * done) / end)} %`
    if (text === shown) return
    shown = text
    process.stderr.write(`\r\x1b[K${done >= end ? '' : text}`)
  }
}

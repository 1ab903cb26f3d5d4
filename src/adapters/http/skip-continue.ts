import type { Socket } from 'node:net'

const interim = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/
const anInterim = 'HTTP/1.1 100 '
const endOfHead = Buffer.from('\r\n\r\n')
const headMax = 16_384
const nothing = Buffer.alloc(0)

/**
 * Removes each interim answer, such as `100 Continue`, from what a connection receives: RFC 9110 (15.2) lets a server
 * send it unasked, and undici then closes the connection, so that the answer of a paid call is lost.
 */
export function skipContinue(socket: Socket): void {
  const read = socket.read.bind(socket)
  const write = socket.write.bind(socket)
  let isBeforeAnswer = true
  let held: Buffer = nothing
  // One request at a time: what is written is a request, and what is read next is the beginning of its answer.
  const begin = (...given: Parameters<typeof write>) => {
    isBeforeAnswer = true
    return write(...given)
  }
  socket.write = begin as typeof socket.write // Of both its forms.
  socket.read = () => {
    const received: Buffer | null = read()
    if (received === null || !isBeforeAnswer) return received
    held = afterInterim(held.length === 0 ? received : Buffer.concat([held, received]))
    if (mayBecomeInterim(held)) return null
    isBeforeAnswer = false
    const answer = held
    held = nothing
    return answer
  }
}

/** What follows the complete interim answers at the beginning. */
function afterInterim(received: Buffer): Buffer {
  let rest = received
  for (;;) {
    const end = interim.test(beginningOf(rest)) ? rest.indexOf(endOfHead) : -1
    if (end < 0) return rest
    rest = rest.subarray(end + endOfHead.length)
  }
}

/** Checks that the bytes are the beginning of an interim answer, or may become one. */
function mayBecomeInterim(received: Buffer): boolean {
  if (received.length >= headMax) return false
  const beginning = beginningOf(received)
  return interim.test(beginning + anInterim.slice(beginning.length))
}

function beginningOf(received: Buffer): string {
  return received.toString('latin1', 0, anInterim.length)
}

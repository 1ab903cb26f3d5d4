/**
 * Lets callers append at the same time, each one event after the other to a stream of its own.
 *
 * @param append takes a stream, its events, and what is expected of it
 */
export async function appendAll(append, count, callers, newStream, data) {
  await Promise.all(
    Array.from({ length: callers }, async () => {
      let stream = newStream()
      for (let n = 0; n < count / callers; n++) {
        if (n % 20 === 0) stream = newStream()
        const expectedStreamVersion = n % 20 === 0 ? 'STREAM_DOES_NOT_EXIST' : BigInt(n % 20)
        await append(stream, [{ type: 'consent.amended', data }], { expectedStreamVersion })
      }
    }),
  )
}

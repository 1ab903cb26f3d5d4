/**
 * Posts notifications over so many connections for some seconds, each with a body of its own, and prints one JSON
 * object: how many were answered 2xx in a second, the 99th percentile of the latency, and how many were not.
 */
import autocannon from 'autocannon'

const { url, connections, seconds, headers, bodies } = JSON.parse(process.argv[2] ?? '{}')
const [head = '', tail = ''] = bodies
let sent = 0
const run = `${process.pid}-${Date.now()}`

const result = await autocannon({
  url,
  connections,
  duration: seconds,
  requests: [
    {
      method: 'POST',
      headers,
      setupRequest: request => ({ ...request, body: `${head}${run}-${sent++}${tail}` }),
    },
  ],
})
console.log(
  JSON.stringify({
    acknowledged: result['2xx'],
    perSecond: result['2xx'] / result.duration,
    p99Ms: result.latency.p99,
    failed: result.non2xx + result.errors + result.timeouts,
  }),
)

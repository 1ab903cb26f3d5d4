import { traceHeader } from '../box.ts'
import type { MakeCheck } from '../check.ts'

/** A validation is done at most once at the service: it costs money. */
export const paidOnce: MakeCheck = (_, say) => {
  const paid = new Set<string>()
  return {
    served(service, request, response) {
      if (service !== 'validationService' || response.status !== 200) return
      const trace = request.headers.get(traceHeader) ?? ''
      if (paid.has(trace)) say(`the validation ${trace} was done twice`)
      paid.add(trace)
    },
  }
}

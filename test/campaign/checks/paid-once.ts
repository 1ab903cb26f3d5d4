import type { CreateCheck } from '../check.ts'
import { traceHeader } from '../simulated-host.ts'

/** The service does each validation at most once, because it costs money. */
export const paidOnce: CreateCheck = (_, report) => {
  const paid = new Set<string>()
  return {
    served(service, request, response) {
      if (service !== 'validationService' || response.status !== 200) return
      const trace = request.headers.get(traceHeader) ?? ''
      if (paid.has(trace)) report(`the validation ${trace} was done twice`)
      paid.add(trace)
    },
  }
}

/** The scenario for every runtime, in a host that does not have `@opentelemetry/api`. */
import { registerHooks } from 'node:module'

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== '@opentelemetry/api') return next(specifier, context)
    throw new Error(`Cannot find package '${specifier}'`)
  },
})
const found = await import('@opentelemetry/api').catch(() => undefined)
if (found) throw new Error('The package is there: nothing would be shown')
await import('./both-runtimes.ts')

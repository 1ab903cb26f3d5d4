import { noTracing, type Tracing } from '../vocabulary/tracing.ts'

/** The context key that makes `@opentelemetry/sdk-*` skip tracing: the API has no name for it. */
const suppressionKey = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING'

type Api = typeof import('@opentelemetry/api')

/** Uses `@opentelemetry/api` if the host has it. Its spans do nothing unless the host registers a provider. */
export async function loadTracing(load: () => Promise<Api> = () => import('@opentelemetry/api')): Promise<Tracing> {
  // The package is optional, and not every runtime can check beforehand whether it is installed.
  const api = await load().catch(() => undefined)
  return api ? createTracing(api) : noTracing
}

function createTracing({ context, createContextKey, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace }: Api): Tracing {
  const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER }
  const suppressed = createContextKey(suppressionKey)
  return {
    span: (kind, name, attributes, work) =>
      trace.getTracer('averba').startActiveSpan(name, { kind: kinds[kind], attributes }, async span => {
        try {
          return await work(more => void span.setAttributes(more))
        } catch (error) {
          span.setAttribute('error.type', errorType(error))
          span.setStatus({ code: SpanStatusCode.ERROR })
          throw error
        } finally {
          span.end()
        }
      }),
    suppressed: work => context.with(context.active().setValue(suppressed, true), work),
    withoutParent: work => context.with(ROOT_CONTEXT, work),
    traceparent() {
      const open = trace.getActiveSpan()?.spanContext()
      if (!open || !trace.isSpanContextValid(open)) return undefined
      const flags = open.traceFlags.toString(16).padStart(2, '0')
      return `00-${open.traceId}-${open.spanId}-${flags}`
    },
  }
}

/** The code or name of an error, never its message, which may contain anything. */
function errorType(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' && /^[A-Z_]{1,40}$/.test(error.code)
    ? error.code
    : error.name
}

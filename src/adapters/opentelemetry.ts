import { noTracing, type Tracing } from '../vocabulary/tracing.ts'

/** The key by which `@opentelemetry/sdk-*` leaves something untraced: the API has no name for it. */
const suppression = 'OpenTelemetry SDK Context Key SUPPRESS_TRACING'

type Api = typeof import('@opentelemetry/api')

/** Uses `@opentelemetry/api` where the host has it: without a provider of the host's, its spans do nothing. */
export async function loadTracing(
  load: () => Promise<Api> = () => import('@opentelemetry/api'),
): Promise<Tracing> {
  // It is optional, and not every runtime can tell beforehand whether it is there.
  const api = await load().catch(() => undefined)
  return api ? tracingWith(api) : noTracing
}

function tracingWith({
  context,
  createContextKey,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
}: Api): Tracing {
  const kinds = { internal: SpanKind.INTERNAL, client: SpanKind.CLIENT, server: SpanKind.SERVER }
  const suppressed = createContextKey(suppression)
  return {
    span: (kind, name, attributes, work) =>
      trace.getTracer('averba').startActiveSpan(name, { kind: kinds[kind], attributes }, async span => {
        try {
          return await work(more => void span.setAttributes(more))
        } catch (error) {
          span.setAttribute('error.type', codeOf(error))
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

/** A code, never the message, which may say anything. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  return 'code' in error && typeof error.code === 'string' && /^[A-Z_]{1,40}$/.test(error.code)
    ? error.code
    : error.name
}

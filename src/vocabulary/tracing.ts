/** The attributes of a span: averba's own values only, never foreign text or personal data. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The host's telemetry, if it has any. */
export interface Tracing {
  /** Runs work in a span; `end` adds attributes of the result. An error is reported by its code or name only. */
  span<T>(
    kind: 'internal' | 'client' | 'server',
    name: string,
    attributes: Attributes,
    work: (end: (more: Attributes) => void) => Promise<T>,
  ): Promise<T>
  /** Runs work that other instrumentation must not trace: its URLs may hold personal data. */
  suppressed<T>(work: () => Promise<T>): Promise<T>
  /** Runs work without a parent span, such as work that outlives the span in which it began. */
  withoutParent<T>(work: () => Promise<T>): Promise<T>
  /** Returns the W3C `traceparent` of the current span. Baggage is never passed on: it may hold anything. */
  traceparent(): string | undefined
}

/** Tracing without telemetry. */
export const noTracing: Tracing = {
  span: (_kind, _name, _attributes, work) => work(() => undefined),
  suppressed: work => work(),
  withoutParent: work => work(),
  traceparent: () => undefined,
}

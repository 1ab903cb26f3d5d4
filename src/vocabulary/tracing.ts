/** What a span says. Our own values only: never anything from outside, and nothing personal. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The host's telemetry, where it has some. */
export interface Tracing {
  /** Does work in a span; `end` adds its result. Of an error only the code or name is told. */
  span<T>(
    kind: 'internal' | 'client' | 'server',
    name: string,
    attributes: Attributes,
    work: (end: (more: Attributes) => void) => Promise<T>,
  ): Promise<T>
  /** Does work that the host's other instrumentation must not trace: addresses hold what no span may. */
  suppressed<T>(work: () => Promise<T>): Promise<T>
  /** Does work under no span, such as what goes on after the one that began it has ended. */
  withoutParent<T>(work: () => Promise<T>): Promise<T>
  /** The W3C `traceparent` of the open span. Nothing else is ever passed on: baggage may hold anything. */
  traceparent(): string | undefined
}

/** No telemetry. */
export const noTracing: Tracing = {
  span: (_kind, _name, _attributes, work) => work(() => undefined),
  suppressed: work => work(),
  withoutParent: work => work(),
  traceparent: () => undefined,
}

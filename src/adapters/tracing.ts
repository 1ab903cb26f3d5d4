/** What a span says. Values of our own only: never what came from outside, and nothing personal. */
export type Attributes = Readonly<Record<string, string | number | boolean>>

/** The host's telemetry, where it has some. */
export interface Tracing {
  /** Does work in a span; `end` adds what it came to. What is thrown is told by its code or name alone. */
  span<T>(
    kind: 'internal' | 'client' | 'server',
    name: string,
    attributes: Attributes,
    work: (end: (more: Attributes) => void) => Promise<T>,
  ): Promise<T>
  /** Does work of which no other instrumentation of the host makes spans: addresses hold what no span may. */
  unseen<T>(work: () => Promise<T>): Promise<T>
  /** The W3C `traceparent` of the span that is open. Nothing else is ever passed on: baggage may hold anything. */
  traceparent(): string | undefined
}

/** No telemetry. */
export const noTracing: Tracing = {
  span: (_kind, _name, _attributes, work) => work(() => undefined),
  unseen: work => work(),
  traceparent: () => undefined,
}

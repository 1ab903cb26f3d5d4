/** A host with telemetry, on any runtime: prints the spans of a reading, each with its outcome and its parent. */
import { context, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { samples, simulate } from '../../src/simulation/index.ts'

const exporter = new InMemorySpanExporter()
trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())

const { averba, close } = await simulate()
const subject = await averba.consents.enrol({ cpf: samples.cpf })
await averba.consents.sync({ subject })
await close()

const spans = exporter.getFinishedSpans()
const nameOf = (id: string | undefined) => spans.find(span => span.spanContext().spanId === id)?.name ?? 'nothing'
const described = spans.map(({ name, attributes, parentSpanContext }) => {
  return `${name} ${attributes['averba.outcome']} in ${nameOf(parentSpanContext?.spanId)}`
})
console.log(JSON.stringify(described))

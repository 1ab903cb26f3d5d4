import { type Source, valueFrom } from '../credentials/source.ts'

/** Authenticates at the portal with headers that the host gives, asked for again when they are refused. */
export function staticHeaders(
  headers: Source<Record<string, string>>,
): () => Promise<Record<string, string>> {
  return () => valueFrom(headers, 'headers of the portal')
}

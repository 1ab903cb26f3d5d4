import { hash } from 'node:crypto'
import { withoutEndSlashes } from '../http/listing.ts'
import { v2 } from './protocol.ts'

/** Where validations are made; `knownAs` is the address before, where the same service has moved. */
interface ValidationEnvironment {
  readonly baseUrl: string
  readonly service: string
  readonly knownAs?: string
}

/**
 * Tells where answers come from: the same for the same address, service and version. An answer of a demonstration says
 * nothing about anybody, and is not one of the real service.
 */
export function environmentOf({ baseUrl, service, knownAs = baseUrl }: ValidationEnvironment): string {
  const { origin, pathname } = new URL(knownAs)
  const place = [v2.version, origin, withoutEndSlashes(pathname), service]
  return hash('sha256', place.join('\0'), 'hex').slice(0, 16)
}

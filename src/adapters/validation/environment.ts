import { hash } from 'node:crypto'
import { trimEndSlashes } from '../http/listing.ts'
import { v2 } from './protocol.ts'

/** Where validations are made. `knownAs` is the earlier address, if the same service has moved. */
interface ValidationEnvironment {
  readonly baseUrl: string
  readonly service: string
  readonly knownAs?: string
}

/** Identifies the environment of an answer by version, address and service: the demonstration has sample data only. */
export function environmentId({ baseUrl, service, knownAs = baseUrl }: ValidationEnvironment): string {
  const { origin, pathname } = new URL(knownAs)
  const place = [v2.version, origin, trimEndSlashes(pathname), service]
  return hash('sha256', place.join('\0'), 'hex').slice(0, 16)
}

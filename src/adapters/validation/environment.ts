import { hash } from 'node:crypto'
import { withoutEndSlashes } from '../without-end-slashes.ts'
import { v2 } from './protocol.ts'

/**
 * Tells where answers come from: the same for the same address, service and version. An answer of a demonstration says
 * nothing about anybody, and is not one of the real service.
 */
export function environmentOf({ baseUrl, service }: { baseUrl: string; service: string }): string {
  const { origin, pathname } = new URL(baseUrl)
  const place = [v2.version, origin, withoutEndSlashes(pathname), service]
  return hash('sha256', place.join('\0'), 'hex').slice(0, 16)
}

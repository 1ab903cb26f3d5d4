import type { DataSource } from './words.ts'

/** Kinds of sealed data that averba writes itself. */
const writtenByAverba: ReadonlySet<string> = new Set([
  'validation.withheld/problem',
  'validation.resolved/problem',
  'consent.changeWithheld/problem',
])

/** Names of parts that services give. */
const givenByServices: ReadonlySet<string> = new Set(['record', 'detail', 'unreadable', 'address', 'result', 'problem'])

/** Finds who gave a kind of sealed data (`<event type>/<part name>`): a service, otherwise the host. */
export function findDataSource(kind: string): DataSource {
  const machine = kind.slice(0, kind.indexOf('.'))
  const name = kind.slice(kind.indexOf('/') + 1)
  // All sealed data of these machines comes from the portal.
  if (machine === 'portal' || machine === 'subscription' || machine === 'notification') return 'portal'
  if (writtenByAverba.has(kind) || !givenByServices.has(name)) return 'host'
  return machine === 'validation' ? 'validationService' : 'consentService'
}

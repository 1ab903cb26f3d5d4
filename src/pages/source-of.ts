import type { DataSource } from './words.ts'

/** What averba itself wrote: no service was asked, or none has said it. */
const writtenByAverba: ReadonlySet<string> = new Set([
  'validation.withheld/problem',
  'validation.resolved/problem',
  'consent.changeWithheld/problem',
])

/** What services give, by the name of the part. */
const givenByServices: ReadonlySet<string> = new Set([
  'record',
  'detail',
  'unreadable',
  'address',
  'result',
  'problem',
])

/** Says who gave a kind of sealed data, by the type of its event and its name: the host, unless a service did. */
export function findDataSource(kind: string): DataSource {
  const machine = kind.slice(0, kind.indexOf('.'))
  const name = kind.slice(kind.indexOf('/') + 1)
  // All that is sealed there came from the portal.
  if (machine === 'portal' || machine === 'subscription' || machine === 'notification') return 'portal'
  if (writtenByAverba.has(kind) || !givenByServices.has(name)) return 'host'
  return machine === 'validation' ? 'validationService' : 'consentService'
}

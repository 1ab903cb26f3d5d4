import type { Source } from './words.ts'

const byName: Readonly<Record<string, Source>> = {
  record: 'consentService',
  detail: 'consentService',
  unreadable: 'consentService',
  address: 'consentService',
  result: 'validationService',
  body: 'portal',
}

/** Says who gave a kind of sealed data: the host, unless a service did. */
export function sourceOf(kind: string): Source {
  const name = kind.slice(kind.indexOf('/') + 1)
  if (name === 'problem') return kind.startsWith('validation.') ? 'validationService' : 'consentService'
  return byName[name] ?? 'host'
}

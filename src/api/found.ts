import type { ServiceName } from '../vocabulary/service-name.ts'

/** What is looked at in this process and its file, without asking anybody. */
export const own = [
  ...([
    'store',
    'writing',
    'keyring',
    'times',
    'erasures',
    'views',
    'effects',
    'followers',
    'notifications',
    'consents',
    'token',
    'subscriptions',
    'receiver',
  ] as const),
]
/** The certificates that are looked at. */
export const certificates = ['certificate', 'portalCertificate', 'receiverCertificate'] as const

/** The services that are reached for, and what their answers say of our clock. */
type Outside = ServiceName | 'clock'

/** What was found at one thing. */
export interface Found {
  readonly ok: boolean
  /** What was found, in words without personal data, and what to do when it is not well. */
  readonly detail: string
  readonly daysLeft?: number
}

/** One thing that was looked at. */
export interface Check extends Found {
  readonly name: (typeof own)[number] | (typeof certificates)[number] | Outside | 'configuration'
}

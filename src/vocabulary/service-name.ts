/** The four services, as named in the options. */
export const serviceNames = ['consentService', 'tokenService', 'validationService', 'portal'] as const

/** One of the four services. */
export type ServiceName = (typeof serviceNames)[number]

/** Returns the service of an effect: the first segment of its type. */
export function serviceOf(effectType: string): string {
  return effectType.slice(0, effectType.indexOf('.'))
}

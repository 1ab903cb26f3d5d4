/** The four services, as the options name them. */
export const serviceNames = ['consentService', 'tokenService', 'validationService', 'portal'] as const

/** One of the four services. */
export type ServiceName = (typeof serviceNames)[number]

/** The service of an effect: what its type begins with. */
export function serviceOf(effectType: string): string {
  return effectType.slice(0, effectType.indexOf('.'))
}

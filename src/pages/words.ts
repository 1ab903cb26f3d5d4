import type { StandingReason } from '../machines/consent/standing.ts'
import type { HandlerState, HandlingState } from '../machines/notification.ts'
import type { EffectState, Waiting } from '../vocabulary/message.ts'
import { englishEvents } from './english-events.ts'
import { inLanguage, type Language } from './labels.ts'
import { portugueseEvents } from './portuguese-events.ts'
import texts from './words.json' with { type: 'json' }

/** Who gave a piece of data. */
export type DataSource = 'host' | 'consentService' | 'validationService' | 'portal'

/** The services, by their names in the code. */
export const services = {
  consentService: ['Serviço de consentimento', 'Consent service'],
  validationService: ['Serviço de validação', 'Validation service'],
  tokenService: ['Serviço de tokens', 'Token service'],
  portal: ['Portal de comércio exterior', 'Foreign-trade portal'],
} as const

export type LanguageWords = ReturnType<typeof getLanguageWords>

export function getLanguageWords(language: Language) {
  const isEnglish = language === 'en'
  const retained = inLanguage<string>(texts.retained, language)
  const { untilSettled, day, days: several } = inLanguage(texts.terms, language)
  return {
    events: isEnglish ? englishEvents : portugueseEvents,
    /** The text of an event of the log itself, or of a newer version. */
    otherEvent: (type: string) =>
      inLanguage<string>(texts.logEvents, language)[type] ??
      (isEnglish ? `Another record (${type})` : `Outro registro (${type})`),
    /** Names of sealed data, by the name of the part, or by `<event type>/<part name>`. */
    kinds: inLanguage<string>(texts.kinds, language),
    sources: inLanguage<DataSource>(texts.sources, language),
    services: inLanguage<string>(services, language),
    operations: inLanguage<string>(texts.operations, language),
    effectStates: inLanguage<EffectState>(texts.effectStates, language),
    notificationStates: inLanguage<HandlingState>(texts.notificationStates, language),
    handlerStates: inLanguage<HandlerState['state']>(texts.handlerStates, language),
    subscriptionStates: inLanguage<string>(texts.subscriptionStates, language),
    /** What a call that has not ended waits for. */
    waitings: inLanguage<Waiting['for']>(texts.waitings, language),
    /** How a call ended without an answer: by the type of the event, or what was found out after it was lost. */
    callEndings: inLanguage(texts.callEndings, language),
    reasons: inLanguage<StandingReason>(texts.reasons, language),
    validationStates: inLanguage<string>(texts.validationStates, language),
    origins: inLanguage<string>(texts.origins, language),
    /** The categories of people that data is about, by the kind of its owner. */
    owners: inLanguage<string>(texts.owners, language),
    ...inLanguage(texts.sentences, language),
    /** How long a kind of sealed data is kept: a number of days, or null for until it is settled. */
    retentionRule(kind: string, days: number | null) {
      const term = days === null ? untilSettled : `${days} ${days === 1 ? day : several}`
      return `${retained[kind] ?? kind}: ${term}`
    },
    /** What a proof of events in a log does not prove. */
    unproven: Object.values(inLanguage<string>(texts.unproven, language)),
  }
}

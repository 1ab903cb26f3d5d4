import { expect, test } from 'vitest'
import { machines } from '../../src/machines/machines.ts'
import { getLanguageWords } from '../../src/pages/words.ts'
import { createPerformers } from '../support/performers.ts'

const performers = createPerformers(async () => new Response('', { status: 500 }))

test('every operation declares its effect class, and every effect has a performer', () => {
  const classes = Object.entries(performers).map(([type, { effectClass }]) => [type, effectClass])
  expect(Object.fromEntries(classes)).toEqual({
    'consentService.listConsents': 'read',
    'consentService.readConsent': 'read',
    'consentService.changeStatus': 'probed',
    'consentService.listAwareness': 'read',
    'consentService.readAwareness': 'read',
    'consentService.readLogin': 'read',
    'consentService.readLoginAddress': 'read',
    'tokenService.requestToken': 'idempotent',
    'validationService.validatePerson': 'once',
    'portal.subscribe': 'probed',
    'portal.changeSubscription': 'probed',
    'portal.deleteSubscription': 'probed',
    'portal.listSubscriptions': 'read',
    'portal.listFailures': 'read',
  })
  // Local effects (`keys.…`) are not operations of a service.
  const requested = machines.flatMap(({ messages }) => Object.values(messages.effects ?? {}).flat())
  const outside = requested.filter(type => !type.startsWith('keys.'))
  expect([...new Set(outside)].sort()).toEqual(Object.keys(performers).sort())
})

test('every call that a report about a person may show has its words', () => {
  const shown = Object.keys(performers).filter(type => /^(consent|validation)Service\./.test(type))
  for (const { operations } of [getLanguageWords('en'), getLanguageWords('pt-BR')])
    expect(Object.keys(operations).sort()).toEqual(shown.sort())
})

import { expect, test } from 'vitest'
import { machines } from '../../src/machines/machines.ts'
import { getLanguageWords } from '../../src/pages/words.ts'
import type { PendingEffect } from '../../src/vocabulary/message.ts'
import { createPerformers } from '../support/performers.ts'

const performers = createPerformers(async () => new Response('', { status: 500 }))

/** The effects that each event may request. */
const effects = new Map(machines.flatMap(({ messages }) => Object.entries(messages.effects ?? {})))

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
  const outside = [...effects.values()].flatMap((all = []) => all).filter(type => !type.startsWith('keys.'))
  expect([...new Set(outside)].sort()).toEqual(Object.keys(performers).sort())
})

test('every call that a report about a person may show has its words', () => {
  const shown = Object.keys(performers).filter(type => /^(consent|validation)Service\./.test(type))
  for (const { operations } of [getLanguageWords('en'), getLanguageWords('pt-BR')])
    expect(Object.keys(operations).sort()).toEqual(shown.sort())
})

test('the unknown event of a probed operation makes the effect that reads its result', () => {
  const probes = Object.entries(performers).flatMap(([type, { effectClass, lostFact: lost }]) => {
    if (effectClass !== 'probed') return []
    const pending = { type, data: {}, stream: 's-1' } as unknown as PendingEffect // All that `lost` reads.
    const unknown = lost(pending).type
    const facts = machines.flatMap(({ messages }) => messages.facts?.[unknown] ?? [])
    const requested = facts.flatMap(made => effects.get(typeof made === 'string' ? made : made.event) ?? [])
    return [[type, requested]]
  })
  const subscriptions = ['subscribe', 'changeSubscription', 'deleteSubscription'].map(name => `portal.${name}`)
  expect(probes).toEqual([
    ['consentService.changeStatus', ['consentService.readConsent']],
    ...subscriptions.map(type => [type, ['portal.listSubscriptions']]),
  ])
})

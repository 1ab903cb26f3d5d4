import { describe, expect, test } from 'vitest'
import { runForJson } from '../support/run-script.ts'

describe.each(['Node', 'Deno'] as const)('%s', runtime => {
  test('handles a consent and a token over mutual TLS, and reads the log back, in a host without telemetry', async () => {
    expect(await runForJson(runtime, 'test/package/without-telemetry.ts')).toEqual({
      synced: { read: 4, changed: 4, unreadable: 0 },
      approved: 'ATIVO',
      fields: { sexo: { result: 'match' } },
      tokenRequests: 1,
      types: [
        'log.began',
        'subject.enrolled',
        'subject.syncRequested',
        ...Array.from({ length: 4 }, () => 'consent.appeared'),
        'subject.synced',
        'consent.changeRequested',
        'effect.attempted',
        'consent.approved',
        'validation.requested',
        'effect.attempted',
        'token.requested',
        'effect.attempted',
        'token.renewed',
        'validation.answered',
      ],
      differences: 0,
    })
  })

  test('reads a table that another process has changed, or whose change was undone', async () => {
    const changed = [{ b: 2, c: 3, a: 1 }]
    expect(await runForJson(runtime, 'test/package/changed-table.ts')).toEqual([[{ a: 1, b: 2 }], changed, changed])
  })

  test('creates spans in a host with telemetry', async () => {
    expect(await runForJson(runtime, 'test/package/spans-on-a-runtime.ts')).toEqual([
      'averba consents.enrol recorded in nothing',
      'averba consentService.listConsents settled in averba consents.sync',
      'averba consents.sync settled in nothing',
    ])
  })

  test('presents certificates of every form, reports a wrong one, and rotates it', async () => {
    const words = (text: string) => `MISCONFIGURED: Cannot use the client certificate: ${text}`
    expect(await runForJson(runtime, 'test/package/certificates-on-a-runtime.ts')).toEqual({
      presented: {
        ...{ pem: 'gestora pem', encryptedPem: 'gestora pem' },
        ...{ aes: 'gestora a1', rc2: 'gestora a1', ec: 'gestora ec' },
      },
      words: {
        wrongPassphrase: words('its passphrase is wrong'),
        noPassphrase: words('its key is encrypted, and its passphrase is missing'),
        wrongPassphraseOfAes: words('its passphrase is wrong'),
        wrongPassphraseOfRc2: words('its passphrase is wrong'),
        brokenAes: words('its PKCS#12 file cannot be read'),
        brokenRc2: words('its PKCS#12 file cannot be read'),
        otherKey: words('its key belongs to another certificate'),
        brokenKey: words('its key cannot be read'),
        brokenCertificate: words('its certificate cannot be read'),
        expired: words('it expired on 1971-01-01'),
      },
      endsInTwentyDays: [20],
      rotated: ['gestora pem', 'gestora nova'],
    })
  })
})

test('with Deno.serve and node:http, notifications are stored before they are acknowledged', async () => {
  expect(await runForJson('Deno', 'test/package/receiver-on-deno.ts')).toEqual({
    statuses: [200, 401, 200],
    forgotten: 500,
    listened: { log: 200, drain: 200, decode: 200, read: 500 },
    handled: [{ numero: '26BR1' }, { numero: 'não log' }, { numero: 'não drain' }, { numero: 'não decode' }],
    states: [2, 1, 1, 1].map(copies => ({ state: 'handled', copies })),
  })
})

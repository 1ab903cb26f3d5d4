import { execFile } from 'node:child_process'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const scenario = join(import.meta.dirname, 'both-runtimes.ts')
const withoutTelemetry = join(import.meta.dirname, 'without-telemetry.ts')
const spans = join(import.meta.dirname, 'spans-on-a-runtime.ts')
const certificates = join(import.meta.dirname, 'certificates-on-a-runtime.ts')
const bin = (name: string) => join(root, 'node_modules/.bin', name)

async function run(command: string, args: string[]) {
  const { stdout } = await promisify(execFile)(command, args, { cwd: root })
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '')
}

describe.each([
  ['Node', bin('node'), []],
  ['Deno', bin('deno'), ['run', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual']],
])('%s', (_, command, args) => {
  test('handles a consent and a token over mutual TLS, and reads the log back', async () => {
    expect(await run(command, [...args, scenario])).toEqual({
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

  test('creates spans in a host with telemetry', async () => {
    expect(await run(command, [...args, spans])).toEqual([
      'averba consents.enrol recorded in nothing',
      'averba consentService.listConsents settled in averba consents.sync',
      'averba consents.sync settled in nothing',
    ])
  })

  test('works in a host without telemetry', async () => {
    expect(await run(command, [...args, withoutTelemetry])).toMatchObject({
      approved: 'ATIVO',
      fields: { sexo: { result: 'match' } },
    })
  })

  test('presents certificates of every form, reports a wrong one, and rotates it', async () => {
    const words = (text: string) => `Cannot use the client certificate: ${text}`
    expect(await run(command, [...args, certificates])).toEqual({
      presented: {
        ...{ pem: 'gestora pem', encryptedPem: 'gestora pem' },
        ...{ aes: 'gestora a1', rc2: 'gestora a1', ec: 'gestora ec' },
      },
      words: {
        wrongPassphrase: words('its passphrase is wrong'),
        noPassphrase: words('its key is encrypted, and its passphrase is missing'),
        wrongPassphraseOfAes: words('its passphrase is wrong'),
        wrongPassphraseOfRc2: words('its passphrase is wrong'),
        brokenPfx: words('its PKCS#12 file cannot be read'),
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

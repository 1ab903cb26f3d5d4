import { inspect } from 'node:util'
import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import type { CreateCheck } from '../check.ts'
import { peopleCount, personOf } from '../people.ts'

const { consumerKey, consumerSecret, portalHeaders } = credentials
const basic = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')
const people = Array.from({ length: peopleCount }, (_, person) => personOf(person).cpf)

/** Texts that may be only in the services, in sealed parts and in the host. */
const canaries = new RegExp(
  ['canario', consumerKey, consumerSecret, portalHeaders.authorization, basic, ...people.flatMap(cpfFormats)].join('|'),
  'i',
)

/** A CPF without and with punctuation, as patterns. */
function cpfFormats(cpf: string): string[] {
  return [cpf, cpf.replace(/(...)(...)(...)(..)/, '$1\\.$2\\.$3-$4')]
}

const issuedToken = /"access_token":"([^"]+)"/

/** No header, error, log line, effect or row of a view has a secret or personal data. */
export const noLeak: CreateCheck = (simulated, report) => {
  // Secrets that are created in the run: tokens and derived secrets.
  const created = new Set<string>()
  const look = (where: string, text: string) => {
    const found = canaries.exec(text)?.[0] ?? [...created].find(each => text.includes(each))
    if (found) report(`"${found}" is in ${where}: ${text.slice(0, 300)}`)
  }
  return {
    received({ headers }) {
      const secret = headers.get('secret')
      if (secret) created.add(secret)
    },
    async exchanged(_, response) {
      if (response?.status !== 200) return
      const [, token] = issuedToken.exec(await response.clone().text()) ?? []
      if (token !== undefined) created.add(token)
    },
    header: text => look('a header', text),
    failed: error => look('an error', inspect(error, { depth: 5, showHidden: true })),
    async end() {
      look('the log lines', inspect(simulated.runRecord.logLines, { depth: null, maxArrayLength: null }))
      const asked = await simulated.host.ask(async averba => {
        const views = [
          'consents',
          'subjects',
          'validations',
          'notifications',
          'failures',
          'tokens',
          'subscriptions',
        ] as const
        look('the effects', JSON.stringify(await averba.effects.list()))
        for (const view of views) {
          look(view, JSON.stringify(await averba.views.selectFrom(view).selectAll().execute()))
        }
      })
      if (!asked) report('the views cannot be read')
    },
  }
}

import { inspect } from 'node:util'
import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import type { MakeCheck } from '../check.ts'
import { peopleCount, personOf } from '../people.ts'

const { consumerKey, consumerSecret, portalHeaders } = credentials
const basic = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')
const people = Array.from({ length: peopleCount }, (_, person) => personOf(person).cpf)

/** What must be seen nowhere outside the services, the sealed parts and the host's own hands. */
const canaries = new RegExp(
  [
    'canario',
    consumerKey,
    consumerSecret,
    portalHeaders.authorization,
    basic,
    ...people.flatMap(formsOf),
  ].join('|'),
  'i',
)

/** A CPF as it is written: plain, and with its punctuation. */
function formsOf(cpf: string): string[] {
  return [cpf, cpf.replace(/(...)(...)(...)(..)/, '$1\\.$2\\.$3-$4')]
}

/** A token of any gateway, as it is issued. */
const issuedToken = /"access_token":"([^"]+)"/

/** No secret and no personal data in a header, an error, a line, an effect, or a row of a view. */
export const noLeak: MakeCheck = (box, say) => {
  // Those that are made in a run: tokens, and secrets that are derived.
  const made = new Set<string>()
  const look = (where: string, text: string) => {
    const found = canaries.exec(text)?.[0] ?? [...made].find(each => text.includes(each))
    if (found) say(`"${found}" stands in ${where}: ${text.slice(0, 300)}`)
  }
  return {
    received({ headers }) {
      const secret = headers.get('secret')
      if (secret) made.add(secret)
    },
    async exchanged(_, response) {
      if (response?.status !== 200) return
      const [, token] = issuedToken.exec(await response.clone().text()) ?? []
      if (token !== undefined) made.add(token)
    },
    header: text => look('a header', text),
    failed: error => look('an error', inspect(error, { depth: 5, showHidden: true })),
    async end() {
      look('the lines', inspect(box.book.lines, { depth: null, maxArrayLength: null }))
      const asked = await box.host.ask(async averba => {
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
      if (!asked) say('the views cannot be read')
    },
  }
}

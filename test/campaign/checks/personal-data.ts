import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { checkErasureReceipt } from '../../../src/proof/erasure.ts'
import { credentials } from '../../../src/simulation/services/create-simulators.ts'
import { verifyStore } from '../../../src/store/checks/verify-store.ts'
import { rows } from '../../../src/store/database/connection.ts'
import { keyringOf } from '../../../src/store/database/log-place.ts'
import type { Reading } from '../../../src/store/database/reading.ts'
import { createPieceFinder } from '../../../src/store/database/search-file.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import type { PartMark } from '../../../src/vocabulary/message.ts'
import type { Checks } from '../check.ts'
import { people } from '../people.ts'

const { consumerKey, consumerSecret, portalHeaders } = credentials
const basic = Buffer.from(`${consumerKey}:${consumerSecret}`).toString('base64')

const cpfs = people.map(({ cpf }) => cpf)

/** Texts that may be only in the services, in sealed parts and in the host. */
const canaries = new RegExp(
  ['canario', consumerKey, consumerSecret, portalHeaders.authorization, basic, ...cpfs.flatMap(cpfFormats)].join('|'),
  'i',
)

/** A CPF without and with punctuation, as patterns. */
function cpfFormats(cpf: string): string[] {
  return [cpf, cpf.replace(/(...)(...)(...)(..)/, '$1\\.$2\\.$3-$4')]
}

const issuedToken = /"access_token":"([^"]+)"/

export const personalDataChecks: Checks = {
  /**
   * The file has no byte of an erased person's parts, and no CPF at all. Every receipt of an erasure is complete and
   * valid, every rollback is announced, and the log verifies.
   */
  'erased-for-good': (simulated, report) => ({
    async end() {
      const { runRecord, host, disk, entropy } = simulated
      if (simulated.rollbacks > 0 && !runRecord.log.some(({ type }) => type === 'log.resumed'))
        report('the log continues from a backup, but has no event about it')
      const erased = [...simulated.erased.values()]
      for (const { subject } of erased) {
        const receipt = await host.askFor(averba => averba.subjects.receipt(subject))
        if (!receipt?.completed) report(`the erasure of ${subject} was not completed`)
        else if (receipt.completed.found > 0) report(`the erasure of ${subject} left parts in the file`)
        for (const fault of receipt ? checkErasureReceipt(receipt) : []) report(`a receipt is invalid: ${fault}`)
      }
      await simulated.close()
      const bytes = fileBytes(disk.path)
      const left = new Set<string>()
      createPieceFinder(erased.flatMap(({ pieces }) => pieces))(bytes, left)
      for (const { subject, pieces } of erased) {
        const found = pieces.filter(piece => left.has(piece.toString('hex'))).length
        if (found > 0) report(`${found} parts of ${subject} are still in the file`)
      }
      for (const [person, cpf] of cpfs.entries())
        if (bytes.includes(cpf)) report(`the CPF of person ${person} is in the file`)
      await using reading = await Snapshot.open(disk.path)
      const whole = erased.filter(({ keeps }) => !keeps).map(({ subject }) => `subject-${subject}`)
      for (const place of await remainingParts(reading, new Set(whole)))
        report(`${place}, who was erased, still exists`)
      // Another check compares the views.
      const keyring = keyringOf({ store: disk.path }, entropy)
      const { faults } = await verifyStore(reading, { views: [], isMarkGiven: false, entropy, keyring })
      for (const { check, examples } of faults) report(`the log does not verify: ${check}: ${examples[0]}`)
    },
  }),

  /** No header, error, log line, effect or row of a view has a secret or personal data. */
  'no-leak': (simulated, report) => {
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
          look('the effects', JSON.stringify(await averba.effects.list()))
          for (const { name } of simulated.version.views) {
            const rows = averba.views.selectFrom(name as 'consents').selectAll() // Any of them.
            look(name, JSON.stringify(await rows.execute()))
          }
        })
        if (!asked) report('the views cannot be read')
      },
    }
  },
}

/** The parts in the file that belong to an owner according to the headers. */
async function remainingParts(reading: Reading, owners: ReadonlySet<string>): Promise<string[]> {
  const select = <R>(sql: string) => reading.read(() => rows<R>({ sql, parameters: [] }))
  const headers = await select<{ header: string }>('select header from event')
  const stored = await select<{ place: string }>("select position || '/' || name as place from part")
  const places = new Set(stored.map(({ place }) => place))
  return headers.flatMap(({ header }) => {
    const { position, parts = [] } = JSON.parse(header) as { position: number; parts?: PartMark[] } // As the log has it.
    const own = parts.filter(({ name, owner }) => owners.has(owner) && places.has(`${position}/${name}`))
    return own.map(({ name, owner }) => `the part ${position}/${name} of ${owner}`)
  })
}

/** The bytes of the log file, its journal and the other files of the log. */
function fileBytes(path: string): Buffer {
  const folder = dirname(path)
  const own = readdirSync(folder).filter(name => name.startsWith(basename(path)))
  return Buffer.concat(own.map(name => readFileSync(join(folder, name))))
}

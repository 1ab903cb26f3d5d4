import { rmSync } from 'node:fs'
import type { ErasureReceipt } from '../../../src/api/reports/erasure-receipt.ts'
import { backupStore, restoreStore } from '../../../src/operations/backups.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import { hourMs } from '../../../src/vocabulary/instant.ts'
import { personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { Erased, SimulatedHost } from '../simulated-host.ts'

const request = { requester: 'pedido-do-titular', legalBasis: 'LGPD art. 18, VI', givesUpEnds: true }
const actor = { kind: 'person', ref: 'atendente' } as const

/** Deeds about erasure, personal data, backup and restore. */
export const keepingDeeds = {
  async erase(simulated, { id, person, isBusy, keeps }) {
    // On a full disk an erasure may not be answered, so its result would be unknown.
    if (simulated.disk.isFull) return
    await erase(simulated, { cpf: personOf(person).cpf, commandId: `erase-${id}`, isBusy, keeps })
  },
  async eraseRest(simulated, { id }) {
    if (simulated.disk.isFull) return
    const found = [...simulated.erased.values()].find(each => each.keeps)
    if (found) await eraseRest(simulated, found, `erase-rest-${id}`)
  },
  async reveal({ host }, { person }) {
    await host.ask(
      async averba => {
        const [found] = await averba.consents.list({ cpf: personOf(person).cpf })
        if (!found) return
        const row = await averba.views.selectFrom('consents').selectAll().executeTakeFirst()
        if (row) await averba.subjects.reveal(row, { actor, purpose: 'atendimento' })
      },
      ['NOT_FOUND', 'OUTCOME', 'INVALID_INPUT'],
    )
  },
  async logInNow({ host, services, clock }, { person }) {
    const { cpf } = personOf(person)
    services.consentService.logIn(cpf, clock.now() + hourMs)
    await host.ask(averba => averba.logins.state({ cpf }), ['NOT_FOUND', 'OUTCOME'])
  },
  async handleAgain({ host }, { which, givesUp }) {
    await host.ask(
      async ({ views, notifications }) => {
        const ids = views.selectFrom('notifications').select('notification').orderBy('notification')
        const found = await (givesUp ? ids.where('trouble', 'is not', null) : ids).limit(which + 1).execute()
        const id = found.at(-1)?.notification.slice('notification-'.length)
        if (id !== undefined) await (givesUp ? notifications.skip(id) : notifications.replay({ id }))
      },
      ['REFUSED', 'NOT_FOUND'],
    )
  },
  async backUp(simulated) {
    const { disk, clock } = simulated
    await simulated.open()
    // A copy takes real time, so the work of a newly opened engine is done first.
    await simulated.advanceUntil(clock.now())
    rmSync(disk.backup, { force: true })
    const { position } = await backupStore({ store: disk.path, to: disk.backup })
    simulated.backup = { position, at: clock.now(), erased: new Map(simulated.erased) }
    simulated.runRecord.markReached('backup made')
  },
  async restore(simulated) {
    const { backup, clock, disk, entropy, runRecord, paidAgain, erased } = simulated
    if (!backup || disk.isFull) return
    await simulated.close()
    // The copy takes real time here too.
    await simulated.advanceUntil(clock.now())
    disk.moveLog('', '.lost')
    try {
      await restoreStore({ store: disk.path, backup: disk.backup, acceptRollback: true, clock, entropy })
    } catch (error) {
      // The erasure destroyed keys that this backup needs.
      if (!(error instanceof AverbaError && error.code === 'KEYS_MISMATCH')) throw error
      runRecord.markReached('backup without its keys')
      simulated.backup = undefined
      return disk.moveLog('.lost', '')
    }
    disk.moveLog('.lost', undefined)
    runRecord.markReached('backup restored')
    simulated.rollbacks += 1
    simulated.sealedParts.reset()
    for (const [id, position] of paidAgain) if (position > backup.position) paidAgain.delete(id)
    runRecord.notify('rolledBack', backup)
    const since = [...erased.values()].filter(({ subject }) => !backup.erased.has(subject))
    const rests = [...backup.erased.values()].filter(each => each.keeps && erased.get(each.subject)?.keeps === false)
    erased.clear()
    for (const [subject, each] of backup.erased) erased.set(subject, each)
    const again = `again-${simulated.rollbacks}`
    for (const each of rests) await eraseRest(simulated, each, `erase-rest-${again}-${each.subject}`)
    for (const { subject, cpf } of since) await erase(simulated, { cpf, commandId: `erase-${again}-${subject}` })
    // The host lets the engine catch up at once, as the portal keeps failure records for only thirty days.
    await simulated.host.ask(averba => averba.settle())
  },
} satisfies Partial<Performers>

interface ErasureRequest {
  readonly cpf: string
  readonly commandId: string
  readonly isBusy?: boolean
  readonly keeps?: boolean
}

/** Erases a person, and keeps the destroyed bytes to search for them. */
export async function erase(
  { runRecord, host, sealedParts, disk, validations, erased }: SimulatedHost,
  { cpf, commandId, isBusy = false, keeps = false }: ErasureRequest,
): Promise<void> {
  const ask = { ...request, keep: keeps ? (['validation.result'] as const) : [], commandId }
  const sealed = sealedParts.readNew(disk.path)
  if (isBusy) {
    const input = { id: `busy-${commandId}`, cpf, claims: { nome: 'CANARIO RECLAMADO' } }
    validations.push(input)
    // The other two are answered during the erasure or after it.
    await host.ask(averba =>
      Promise.allSettled([
        averba.consents.sync({ cpf }),
        averba.validations.validate(input),
        averba.subjects.erase({ cpf }, ask),
      ]),
    )
  }
  const asked = await host.ask(averba => averba.subjects.erase({ cpf }, ask), ['NOT_FOUND'])
  if (!asked) return runRecord.fail('erased-for-good', 'an erasure is not answered')
  if (!('value' in asked)) return
  const { subject } = asked.value
  erased.set(subject, { cpf, subject, keeps, pieces: destroyedPieces(asked.value, sealed) })
  runRecord.markReached('person erased')
  runRecord.notify('erased', cpf)
  const refused = await host.ask(averba => averba.consents.sync({ subject }), ['SUBJECT_ERASED'])
  if (refused && !('code' in refused)) runRecord.fail('erased-for-good', 'a command for an erased person was accepted')
}

/** Erases the parts that an earlier erasure kept. */
async function eraseRest(
  { runRecord, host, sealedParts, disk, erased }: SimulatedHost,
  found: Erased,
  commandId: string,
): Promise<void> {
  const { subject } = found
  const sealed = sealedParts.readNew(disk.path)
  const receipt = await host.askFor(averba => averba.subjects.erase({ subject }, { ...request, commandId }))
  if (!receipt) return
  const pieces = [...found.pieces, ...destroyedPieces(receipt, sealed)]
  erased.set(subject, { ...found, keeps: false, pieces })
  runRecord.markReached('rest erased')
}

function destroyedPieces({ destroyed }: ErasureReceipt, sealed: ReadonlyMap<string, Buffer>): Buffer[] {
  return destroyed.parts.flatMap(({ position, name }) => sealed.get(`${position}/${name}`) ?? [])
}

import type { ErasureReceipt } from '../../../src/api/reports/erasure-receipt.ts'
import { backupStore, restoreStore } from '../../../src/operations/backups.ts'
import { AverbaError } from '../../../src/vocabulary/errors.ts'
import type { Erased } from '../erased.ts'
import { personOf } from '../people.ts'
import type { Performers } from '../perform.ts'
import type { SimulatedHost } from '../simulated-host.ts'
import { perform as performOperations } from './operations.ts'

const request = { requester: 'pedido-do-titular', legalBasis: 'LGPD art. 18, VI' }
const actor = { kind: 'person', ref: 'atendente' } as const

/** Deeds about erasure, personal data, backup and restore. */
export const perform: Performers<'erase' | 'eraseRest' | 'reveal' | 'handleAgain' | 'logInNow' | 'backUp' | 'restore'> =
  {
    async erase(simulated, { id, person, isBusy, keeps }) {
      // On a full disk an erasure may not be answered, so its result would be unknown.
      if (simulated.disk.isFull) return
      const { cpf } = personOf(person)
      await erase(simulated, { cpf, commandId: `erase-${id}`, isBusy, keeps })
    },
    async eraseRest(simulated, { id }) {
      if (simulated.disk.isFull) return
      const found = [...simulated.erased.values()].find(each => each.keeps)
      if (found) await eraseRest(simulated, found, `erase-rest-${id}`)
    },
    async reveal(simulated, { person }) {
      const { cpf } = personOf(person)
      await simulated.host.ask(
        async averba => {
          const [found] = await averba.consents.list({ cpf })
          if (!found) return
          const row = await averba.views.selectFrom('consents').selectAll().executeTakeFirst()
          if (row) await averba.subjects.reveal(row, { actor, purpose: 'atendimento' })
        },
        ['NOT_FOUND', 'OUTCOME', 'INVALID_INPUT'],
      )
    },
    async logInNow(simulated, { person }) {
      const { cpf } = personOf(person)
      simulated.services.consentService.logIn(cpf, simulated.clock.now() + 3_600_000)
      await simulated.host.ask(averba => averba.logins.state({ cpf }), ['NOT_FOUND', 'OUTCOME'])
    },
    async handleAgain(simulated, { which }) {
      await simulated.host.ask(
        async averba => {
          const rows = averba.views.selectFrom('notifications').select('notification')
          const found = await rows
            .orderBy('notification')
            .limit(which + 1)
            .execute()
          const id = found.at(-1)?.notification.slice('notification-'.length)
          if (id !== undefined) await averba.notifications.replay({ id })
        },
        ['REFUSED', 'NOT_FOUND'],
      )
    },
    async backUp(simulated) {
      await simulated.open()
      // A copy takes real time, so the work of a newly opened engine is done first.
      await simulated.advanceUntil(simulated.clock.now())
      simulated.disk.removeBackup()
      const { position } = await backupStore({ store: simulated.disk.path, to: simulated.disk.backup })
      simulated.backup = { position, at: simulated.clock.now(), erased: new Map(simulated.erased) }
      simulated.runRecord.markReached('backup made')
    },
    async restore(simulated, step) {
      const { backup, clock, disk, entropy } = simulated
      if (!backup || disk.isFull) return
      await simulated.close()
      // The copy takes real time here too.
      await simulated.advanceUntil(clock.now())
      disk.moveLog('', '.lost')
      try {
        const keys = { store: disk.path, backup: disk.backup, acceptRollback: true } as const
        await restoreStore({ ...keys, clock, entropy })
      } catch (error) {
        // The erasure destroyed keys that this backup needs.
        if (!(error instanceof AverbaError && error.code === 'KEYS_MISMATCH')) throw error
        simulated.runRecord.markReached('backup without its keys')
        simulated.backup = undefined
        return disk.moveLog('.lost', '')
      }
      disk.moveLog('.lost', undefined)
      simulated.runRecord.markReached('backup restored')
      simulated.rollbacks += 1
      simulated.sealedParts.reset()
      for (const [id, position] of simulated.paidAgain) if (position > backup.position) simulated.paidAgain.delete(id)
      simulated.runRecord.notify('rolledBack', backup)
      const since = [...simulated.erased].filter(([subject]) => !backup.erased.has(subject))
      const rests = [...backup.erased.values()].filter(
        ({ subject, keeps }) => keeps && simulated.erased.get(subject)?.keeps === false,
      )
      simulated.erased.clear()
      for (const [subject, each] of backup.erased) simulated.erased.set(subject, each)
      for (const each of rests)
        await eraseRest(simulated, each, `erase-rest-again-${simulated.rollbacks}-${each.subject}`)
      for (const [subject, { cpf }] of since) {
        await erase(simulated, {
          cpf,
          commandId: `erase-again-${simulated.rollbacks}-${subject}`,
          isBusy: false,
          keeps: false,
        })
      }
      // The host lets the engine catch up at once, as the portal keeps failure records for only thirty days.
      await performOperations.settle(simulated, { ...step, do: 'settle' })
    },
  }

interface ErasureRequest {
  readonly cpf: string
  readonly commandId: string
  readonly isBusy: boolean
  readonly keeps: boolean
}

/** Erases a person, and keeps the destroyed bytes to search for them. */
export async function erase(
  simulated: SimulatedHost,
  { cpf, commandId, isBusy, keeps }: ErasureRequest,
): Promise<void> {
  const { runRecord, host } = simulated
  const keep = keeps ? (['validation.result'] as const) : []
  const sealed = simulated.sealedParts.readNew(simulated.disk.path)
  if (isBusy) {
    const input = { id: `busy-${commandId}`, cpf, claims: { nome: 'CANARIO RECLAMADO' } }
    simulated.validations.push(input)
    // The other two are answered during the erasure or after it.
    await host.ask(averba =>
      Promise.allSettled([
        averba.consents.sync({ cpf }),
        averba.validations.validate(input),
        averba.subjects.erase({ cpf }, { ...request, keep, commandId, givesUpEnds: true }),
      ]),
    )
  }
  const asked = await host.ask(
    averba => averba.subjects.erase({ cpf }, { ...request, keep, commandId, givesUpEnds: true }),
    ['NOT_FOUND'],
  )
  if (!asked) return runRecord.fail('erased-for-good', 'an erasure is not answered')
  if (!('value' in asked)) return
  const { subject } = asked.value
  simulated.erased.set(subject, { cpf, subject, keeps, pieces: destroyedPieces(asked.value, sealed) })
  runRecord.markReached('person erased')
  runRecord.notify('erased', cpf)
  const refused = await host.ask(averba => averba.consents.sync({ subject }), ['SUBJECT_ERASED'])
  if (refused && !('code' in refused)) runRecord.fail('erased-for-good', 'a command for an erased person was accepted')
}

/** Erases the parts that an earlier erasure kept. */
async function eraseRest(simulated: SimulatedHost, found: Erased, commandId: string): Promise<void> {
  const { subject } = found
  const sealed = simulated.sealedParts.readNew(simulated.disk.path)
  const receipt = await simulated.host.askFor(averba =>
    averba.subjects.erase({ subject }, { ...request, commandId, givesUpEnds: true }),
  )
  if (!receipt) return
  const pieces = [...found.pieces, ...destroyedPieces(receipt, sealed)]
  simulated.erased.set(subject, { ...found, keeps: false, pieces })
  simulated.runRecord.markReached('rest erased')
}

function destroyedPieces({ destroyed }: ErasureReceipt, sealed: ReadonlyMap<string, Buffer>): Buffer[] {
  return destroyed.parts.flatMap(({ position, name }) => sealed.get(`${position}/${name}`) ?? [])
}

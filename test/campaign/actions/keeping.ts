import type { ErasureReceipt } from '../../../src/api/reports/erasure-receipt.ts'
import { backupStore } from '../../../src/operations/backup.ts'
import { restoreStore } from '../../../src/operations/restore.ts'
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
    async erase(box, { id, person, isBusy, keeps }) {
      // On a full disk an erasure may not be answered, so its result would be unknown.
      if (box.disk.isFull) return
      const { cpf } = personOf(person)
      await erase(box, { cpf, commandId: `erase-${id}`, isBusy, keeps })
    },
    async eraseRest(box, { id }) {
      if (box.disk.isFull) return
      const found = [...box.erased.values()].find(each => each.keeps)
      if (found) await eraseRest(box, found, `erase-rest-${id}`)
    },
    async reveal(box, { person }) {
      const { cpf } = personOf(person)
      await box.host.ask(
        async averba => {
          const [found] = await averba.consents.list({ cpf })
          if (!found) return
          const row = await averba.views.selectFrom('consents').selectAll().executeTakeFirst()
          if (row) await averba.subjects.reveal(row, { actor, purpose: 'atendimento' })
        },
        ['NOT_FOUND', 'OUTCOME', 'INVALID_INPUT'],
      )
    },
    async logInNow(box, { person }) {
      const { cpf } = personOf(person)
      box.services.consentService.logIn(cpf, box.clock.now() + 3_600_000)
      await box.host.ask(averba => averba.logins.state({ cpf }), ['NOT_FOUND', 'OUTCOME'])
    },
    async handleAgain(box, { which }) {
      await box.host.ask(
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
    async backUp(box) {
      await box.open()
      // A copy takes real time, so the work of a newly opened engine is done first.
      await box.advanceUntil(box.clock.now())
      box.disk.removeBackup()
      const { position } = await backupStore({ store: box.disk.path, to: box.disk.backup })
      box.backup = { position, at: box.clock.now(), erased: new Map(box.erased) }
      box.book.markReached('backup made')
    },
    async restore(box, step) {
      const { backup, clock, disk, entropy } = box
      if (!backup || disk.isFull) return
      await box.close()
      // The copy takes real time here too.
      await box.advanceUntil(clock.now())
      disk.moveLog('', '.lost')
      try {
        const keys = { store: disk.path, backup: disk.backup, acceptRollback: true } as const
        await restoreStore({ ...keys, clock, entropy })
      } catch (error) {
        // The erasure destroyed keys that this backup needs.
        if (!(error instanceof AverbaError && error.code === 'KEYS_MISMATCH')) throw error
        box.book.markReached('backup without its keys')
        box.backup = undefined
        return disk.moveLog('.lost', '')
      }
      disk.moveLog('.lost', undefined)
      box.book.markReached('backup restored')
      box.rollbacks += 1
      box.sealedParts.reset()
      for (const [id, position] of box.paidAgain) if (position > backup.position) box.paidAgain.delete(id)
      box.book.notify('rolledBack', backup)
      const since = [...box.erased].filter(([subject]) => !backup.erased.has(subject))
      const rests = [...backup.erased.values()].filter(
        ({ subject, keeps }) => keeps && box.erased.get(subject)?.keeps === false,
      )
      box.erased.clear()
      for (const [subject, each] of backup.erased) box.erased.set(subject, each)
      for (const each of rests) await eraseRest(box, each, `erase-rest-again-${box.rollbacks}-${each.subject}`)
      for (const [subject, { cpf }] of since) {
        await erase(box, {
          cpf,
          commandId: `erase-again-${box.rollbacks}-${subject}`,
          isBusy: false,
          keeps: false,
        })
      }
      // The host lets the engine catch up at once, as the portal keeps failure records for only thirty days.
      await performOperations.settle(box, { ...step, do: 'settle' })
    },
  }

interface ErasureRequest {
  readonly cpf: string
  readonly commandId: string
  readonly isBusy: boolean
  readonly keeps: boolean
}

/** Erases a person, and keeps the destroyed bytes to search for them. */
export async function erase(box: SimulatedHost, { cpf, commandId, isBusy, keeps }: ErasureRequest): Promise<void> {
  const { book, host } = box
  const keep = keeps ? (['validation.result'] as const) : []
  const sealed = box.sealedParts.readNew(box.disk.path)
  if (isBusy) {
    const input = { id: `busy-${commandId}`, cpf, claims: { nome: 'CANARIO RECLAMADO' } }
    box.validations.push(input)
    // The other two are answered during the erasure or after it.
    await host.ask(averba =>
      Promise.allSettled([
        averba.consents.sync({ cpf }),
        averba.validations.validate(input),
        averba.subjects.erase({ cpf }, { ...request, keep, commandId }),
      ]),
    )
  }
  const asked = await host.ask(averba => averba.subjects.erase({ cpf }, { ...request, keep, commandId }), ['NOT_FOUND'])
  if (!asked) return book.fail('erased-for-good', 'an erasure is not answered')
  if (!('value' in asked)) return
  const { subject } = asked.value
  box.erased.set(subject, { cpf, subject, keeps, pieces: destroyedPieces(asked.value, sealed) })
  book.markReached('person erased')
  book.notify('erased', cpf)
  const refused = await host.ask(averba => averba.consents.sync({ subject }), ['SUBJECT_ERASED'])
  if (refused && !('code' in refused)) book.fail('erased-for-good', 'a command for an erased person was accepted')
}

/** Erases the parts that an earlier erasure kept. */
async function eraseRest(box: SimulatedHost, found: Erased, commandId: string): Promise<void> {
  const { subject } = found
  const sealed = box.sealedParts.readNew(box.disk.path)
  const asked = await box.host.ask(averba => averba.subjects.erase({ subject }, { ...request, commandId }))
  if (!asked || !('value' in asked)) return
  const pieces = [...found.pieces, ...destroyedPieces(asked.value, sealed)]
  box.erased.set(subject, { ...found, keeps: false, pieces })
  box.book.markReached('rest erased')
}

function destroyedPieces({ destroyed }: ErasureReceipt, sealed: ReadonlyMap<string, Buffer>): Buffer[] {
  return destroyed.parts.flatMap(({ position, name }) => sealed.get(`${position}/${name}`) ?? [])
}

import type { Area } from '../api/area.ts'
import type { SubjectRef } from '../api/subject-directory.ts'
import { validatedText } from '../api/validations/reuse.ts'
import { giveWay } from '../runtime/event-loop.ts'
import type { Claim } from '../store/writing/append.ts'
import type { Json, PartAddress, Recorded } from '../vocabulary/message.ts'

/** What became of the index: how many rows it had, and how many it has now. */
export interface IndexRebuilt {
  readonly before: number
  readonly after: number
  /**
   * Data subjects whose CPF leads to another one who was enrolled later, while the index was gone: what is theirs is
   * found by their ref alone.
   */
  readonly hidden: readonly SubjectRef[]
}

/** What a row of the index is made of. */
interface Row {
  readonly kind: string
  readonly text: string
  readonly value: string
}

type Opener = (name: string, of?: PartAddress) => Promise<Json | undefined>

/**
 * Makes the index by which CPFs and ids of the services are found anew, from the log and its parts. What was
 * erased has none, and is not found again, but for failure records, whose ids stand in clear.
 */
export async function rebuildKeyedIndex(area: Area): Promise<IndexRebuilt> {
  const { store } = area
  const claims = new Map<string, Claim>()
  const failures = new Map<string, string>()
  const hidden = new Set<SubjectRef>()
  let begunAt: number | undefined
  for (let after = 0; ; ) {
    const { events, end } = await store.readOn({ after })
    const from = begunAt ?? end
    begunAt = from
    if (events.some(({ type, position }) => type === 'subject.erased' && position > from)) {
      // What was opened of the person before that would come back: all is read anew.
      claims.clear()
      failures.clear()
      hidden.clear()
      begunAt = undefined
      after = 0
      continue
    }
    for (const event of events) {
      for (const { kind, text, value } of await rowsOf(area, event, failures)) {
        const digest = store.digest(kind, text)
        const key = `${kind} ${Buffer.from(digest).toString('hex')}`
        const older = claims.get(key)
        if (kind === 'cpf' && older) hidden.add(older.value as SubjectRef) // Only refs are kept under this kind.
        // The newest counts, as it did when it was claimed.
        claims.set(key, { kind, digest, value })
      }
    }
    after = events.at(-1)?.position ?? after
    await giveWay()
    if (after < end) continue
    const rebuilt = await store.owners.replaceIndex([...claims.values()], after)
    if (rebuilt) return { ...rebuilt, hidden: [...hidden] }
  }
}

async function rowsOf(area: Area, event: Recorded, failures: Map<string, string>): Promise<Row[]> {
  const open: Opener = (name, of = event.id) => area.store.open(`${of}/${name}`).catch(() => undefined)
  const data = event.data as Record<string, string> // As each machine writes what is read of it here.
  const { subject = '', failure = '', notification = '', remoteId = '' } = data
  switch (event.type) {
    case 'subject.enrolled':
      return rowIf('cpf', await open('cpf'), subject)
    case 'consent.appeared':
      return rowIf('consent', idIn(await open('record')), data.consent, id => `${subject}\0${id}`)
    case 'subject.awarenessAppeared':
      return rowIf('awareness', idIn(await open('record')), data.record, id => `${subject}\0${id}`)
    case 'subscription.declared':
      return rowIf('subscription', data.evento, data.subscription)
    case 'subscription.failing':
    case 'portal.foreignFailure': {
      // Its record may be destroyed, and the portal shows it again all the same.
      const id = idIn({ id: remoteId })
      if (id !== undefined) failures.set(failure, id)
      return rowIf('failure', id, failure)
    }
    case 'subscription.failureRecovered':
      return rowIf('recovery', failures.get(failure), notification)
    case 'validation.answered':
      return validated(area, event, open)
    default:
      return []
  }
}

/** An answer is found by what was claimed and of whom, where it may be given again. */
async function validated(area: Area, { stream, data }: Recorded, open: Opener): Promise<Row[]> {
  const [requested] = await area.store.read({ stream, limit: 1 })
  if (requested?.type !== 'validation.requested') return []
  const { subject } = requested.data as { subject: string } // As the machine writes it.
  // What was kept of an erased person is there, and found by nothing any more.
  if (await area.subjects.isErased(`subject-${subject}`)) return []
  const [claims, result] = [await open('claims', requested.id), await open('result')]
  const { environment } = data as { environment: string } // As the client writes it.
  return rowIf('validated', validatedText(environment, subject, claims, result), stream)
}

function rowIf(
  kind: string,
  found: Json | undefined,
  value: string | undefined,
  textOf: (found: string) => string = text => text,
): Row[] {
  return typeof found === 'string' && value !== undefined ? [{ kind, text: textOf(found), value }] : []
}

/** The service's own id in a record, as text. */
function idIn(record: Json | undefined): string | undefined {
  if (typeof record !== 'object' || record === null || !('id' in record)) return undefined
  const { id } = record
  return typeof id === 'string' || typeof id === 'number' ? String(id) : undefined
}

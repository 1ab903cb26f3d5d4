import { hash } from 'node:crypto'
import type { IncomingNotification } from '../../adapters/receiver/receiver.ts'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { streamOf } from '../../vocabulary/names.ts'
import { holdsCpf, isCnpj, isCpf } from '../../vocabulary/tax-numbers.ts'
import { type ApiContext, findStream } from '../api-context.ts'
import { copyWindowMs, toSealedBody } from './notification.ts'

const redactedEvento = 'sem-nome'

/** Checks the header also decoded as UTF-8: headers arrive as Latin-1, which hides dashes and spaces in UTF-8. */
function namesPerson(evento: string): boolean {
  return holdsCpf(evento) || holdsCpf(Buffer.from(evento, 'latin1').toString())
}

/** The same id with any punctuation is one recipient. */
function normalizedRecipientId({ kind, id }: IncomingNotification['recipient']): string {
  return kind === 'CPF' || kind === 'CNPJ' ? id.replace(/[\s.\-/]/g, '').toUpperCase() : id
}

/** What to record for a notification: of the same content for a recipient, the portal sends one per subscription. */
export async function routeNotification(context: ApiContext, incoming: IncomingNotification): Promise<DecisionRequest> {
  const { store, clock } = context
  const { body } = incoming
  // The event name is stored in clear: one that contains a CPF, which cannot be a subscribed one, is replaced.
  const evento = namesPerson(incoming.evento) ? redactedEvento : incoming.evento
  const recipient = { ...incoming.recipient, id: normalizedRecipientId(incoming.recipient) }
  const content = [incoming.evento, recipient.kind ?? '', recipient.id, hash('sha256', body, 'hex')].join('\0')
  const now = clock.now()
  const recent = { digest: store.digest('notification', content), since: now - copyWindowMs, until: now + copyWindowMs }
  const message = { type: 'portal.notified', data: {} }
  const earlier = await store.findRecent(recent)
  const original = earlier === undefined ? undefined : await store.readAt(earlier)
  if (original) return { targets: [{ stream: original.stream, message }] }
  const notification = context.createId()
  const stream = streamOf('notification', notification)
  const { owner, targets, indexEntries = [] } = await sealingOwner(context, evento, recipient, stream)
  const addressed = { tipo: recipient.kind, id: incoming.recipient.id, evento: incoming.evento }
  const parts = { body: { owner, value: toSealedBody(body, addressed) } }
  const data = { notification, evento, recipientKind: recipient.kind, bodyBytes: body.length }
  return {
    targets: [...targets, { stream, message: { ...message, data, parts }, isNew: true }],
    // If the person is erased meanwhile, the notification is routed again and enrols a new subject.
    whenErased: 'conflict',
    indexEntries,
    // Fails the append if another process has stored the same content meanwhile.
    recent,
  }
}

/** The owner whose key seals the notification: the addressed person, else the organisation, else the subscription. */
async function sealingOwner(
  context: ApiContext,
  evento: string,
  { kind, id }: IncomingNotification['recipient'],
  stream: string,
): Promise<DecisionRequest & { owner: string }> {
  if (kind === 'CPF' && isCpf(id)) {
    const { subject, targets, indexEntries = [] } = await context.subjects.prepareSubject(id, 'notification')
    return { owner: streamOf('subject', subject), targets, indexEntries }
  }
  if (kind === 'CNPJ' && isCnpj(id)) return { owner: `organisation-${id}`, targets: [] }
  if (kind === 'ORGAO' && id !== '') {
    const digest = context.store.digestHex('orgao', id).slice(0, 20)
    return { owner: `organisation-${digest}`, targets: [] }
  }
  return { owner: (await findStream(context.store, 'subscription', evento)) ?? stream, targets: [] }
}

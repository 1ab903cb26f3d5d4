import { hash } from 'node:crypto'
import type { IncomingNotification } from '../../adapters/receiver/receiver.ts'
import type { DecisionRequest } from '../../engine/recording/decisions.ts'
import { isCnpj } from '../../vocabulary/cnpj.ts'
import { holdsCpf, isCpf } from '../../vocabulary/cpf.ts'
import { streamOf } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { copyWindowMs, sealedBody } from './notification.ts'

const unnamed = 'sem-nome'

/** A header comes as Latin-1, byte by byte: only once decoded is a dash or a space in UTF-8 seen as such. */
function namesPerson(evento: string): boolean {
  return holdsCpf(evento) || holdsCpf(Buffer.from(evento, 'latin1').toString())
}

/** However it is written, it is one recipient. */
function withoutPunctuation({ kind, id }: IncomingNotification['recipient']): string {
  return kind === 'CPF' || kind === 'CNPJ' ? id.replace(/[\s.\-/]/g, '').toUpperCase() : id
}

/**
 * What has to be recorded for a notification: the same content for the same recipient within the window is
 * a copy, which the portal sends once per subscription.
 */
export async function routeNotification(
  context: ApiContext,
  incoming: IncomingNotification,
): Promise<DecisionRequest> {
  const { store, clock } = context
  const { body } = incoming
  // The event is kept in clear: nobody subscribed to one that names a person, so its name is left out.
  const evento = namesPerson(incoming.evento) ? unnamed : incoming.evento
  const recipient = { ...incoming.recipient, id: withoutPunctuation(incoming.recipient) }
  const content = [incoming.evento, recipient.kind ?? '', recipient.id, hash('sha256', body, 'hex')].join(
    '\0',
  )
  const now = clock.now()
  const recent = {
    digest: store.digest('notification', content),
    since: now - copyWindowMs,
    until: now + copyWindowMs,
  }
  const message = { type: 'portal.notified', data: {} }
  const earlier = await store.findRecent(recent)
  const original = earlier === undefined ? undefined : await store.readAt(earlier)
  if (original) return { targets: [{ stream: original.stream, message }] }
  const notification = context.createId()
  const stream = streamOf('notification', notification)
  const { owner, targets, claims = [] } = await ownerOf(context, evento, recipient, stream)
  const addressed = { tipo: recipient.kind, id: incoming.recipient.id, evento: incoming.evento }
  const parts = { body: { owner, value: sealedBody(body, addressed) } }
  const data = { notification, evento, recipientKind: recipient.kind, bodyBytes: body.length }
  return {
    targets: [...targets, { stream, message: { ...message, data, parts }, isNew: true }],
    // A person who was erased at this very moment is met again, as another.
    whenErased: 'conflict',
    claims,
    // A copy of what this process stored is found at once; one that another process stored stops the append.
    recent,
  }
}

/** Under whose key it is sealed: the person addressed, else the organisation, else the subscription. */
async function ownerOf(
  context: ApiContext,
  evento: string,
  { kind, id }: IncomingNotification['recipient'],
  stream: string,
): Promise<DecisionRequest & { owner: string }> {
  if (kind === 'CPF' && isCpf(id)) {
    const { subject, targets, claims = [] } = await context.subjects.meet(id, 'notification')
    return { owner: streamOf('subject', subject), targets, claims }
  }
  if (kind === 'CNPJ' && isCnpj(id)) return { owner: `organisation-${id}`, targets: [] }
  if (kind === 'ORGAO' && id !== '') {
    const digest = Buffer.from(context.store.digest('orgao', id)).toString('hex', 0, 10)
    return { owner: `organisation-${digest}`, targets: [] }
  }
  const subscription = await context.store.lookUp('subscription', evento)
  return { owner: subscription === undefined ? stream : streamOf('subscription', subscription), targets: [] }
}

import {
  type ApplyOptions,
  type Averba,
  type AverbaOptions,
  type Notification,
  type Subscription,
  staticHeaders,
  valueOf,
} from '../../src/index.ts'
import type { Clock } from '../../src/runtime/clock.ts'
import { systemEntropy } from '../../src/runtime/entropy.ts'
import { samples, type World } from '../../src/simulation/index.ts'
import { Memory } from '../../src/simulation/services/memory.ts'
import { simulatePortal } from '../../src/simulation/services/portal/portal.ts'
import { notify } from './notify.ts'
import { openEngine } from './world.ts'

const baseUrl = 'https://portal.exemplo.br'
const session = { authorization: 'sessao-de-exemplo' }

/** Calls the portal as another program of the same user does, or as another user, and returns its answer. */
export async function callPortal<T = { id: number }>(
  { portal }: Pick<World, 'portal'>,
  method: string,
  body?: object,
  id = '',
  user: Readonly<Record<string, string>> = session,
): Promise<T> {
  const headers = { 'content-type': 'application/json', ...user }
  const path = `${baseUrl}/portal/api/ext/webhook${id}`
  const answer = await portal.fetch(new Request(path, { method, headers, ...(body && { body: JSON.stringify(body) }) }))
  if (!answer.ok) throw new Error(`The portal answered ${answer.status}`)
  return JSON.parse((await answer.text()) || '{}')
}

/** The portal's secrets, by event. */
export async function secretsAt(world: Pick<World, 'portal'>): Promise<Record<string, string>> {
  const rows = await callPortal<{ evento: string; chaveSecreta: string }[]>(world, 'GET')
  return Object.fromEntries(rows.map(row => [row.evento, row.chaveSecreta]))
}

let count = 0
/** Delivers a new notification with a secret, and returns the status of the answer. */
export async function statusOf(averba: Averba, secret: string, evento = 'dimp-situacao-import'): Promise<number> {
  count += 1
  return (await notify(averba, count, { 'event-type': evento, secret })).status
}

/** Lets the portal notify the sample company, and returns how each delivery ended. */
export function deliver({ portal }: Pick<World, 'portal'>, body: unknown, evento = 'dimp-situacao-import') {
  return portal.notify({ evento, destinatarioTipo: 'CNPJ', destinatarioId: samples.cnpj, body })
}

/** All notifications, or those that a filter selects. */
export function inboxOf(
  { notifications }: Averba,
  filter?: Parameters<Averba['notifications']['list']>[0],
): Promise<Notification[]> {
  return Array.fromAsync(notifications.list(filter))
}

/** Opens another engine at the portal of a world: by default on a log of its own, with the same receiver. */
export function openBeside(world: World, options: Partial<AverbaOptions>): Promise<Averba> {
  return openEngine({
    store: ':memory:',
    clock: world.clock,
    fetch: request => world.reach.portal(request),
    portal: { baseUrl, authenticate: staticHeaders(session) },
    receiver: { publicUrl: 'https://receptor.exemplo.br/averba' },
    ...options,
  })
}

/** Makes the portal's subscriptions as they are declared, and returns those that it made, changed or deleted. */
export async function applyPlan({ subscriptions }: Averba, options?: ApplyOptions): Promise<Subscription[]> {
  return (await subscriptions.apply(await subscriptions.plan(), options)).map(valueOf)
}

/** What the next plan would do with each event. */
export async function actionsOf({ subscriptions }: Averba): Promise<string[]> {
  return (await subscriptions.plan()).changes.map(({ action }) => action)
}

export async function bodiesOf(averba: Averba): Promise<unknown[]> {
  return (await inboxOf(averba)).map(({ body }) => body)
}

/** A portal alone, which a certificate or access keys log in to. */
export const simulateSessions = (clock: Clock) =>
  simulatePortal({
    ...{ memory: new Memory(), clock, entropy: systemEntropy, policies: { authentication: 'session' } },
    deliver: async () => new Response(),
  })

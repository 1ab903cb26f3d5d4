import { expect, onTestFinished } from 'vitest'
import { type Averba, type Consent, type ConsentNotEffectiveError, valueOf } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { type Views, views } from '../../../src/views/views.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { checkOf } from '../../support/check-of.ts'
import { isDetail, isList } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { minuteMs } from '../../support/pass-time.ts'
import { type StoryStep, tellEach, tellInForms, toMs } from '../../support/tell-story.ts'

type Status = Consent['status']
const verbs = ['approve', 'deny', 'revoke'] as const
type Verb = (typeof verbs)[number]
/** A record of the service, with its history if it is one in full. */
interface ShownRecord {
  readonly id: string
  readonly status: string
  readonly historico: readonly { readonly dataHora: string; readonly status?: string }[]
}

/** What an answer showed of the consent, with the number of its request, and when that was sent and answered. */
export type Shown = Readonly<{ number: number; kind: Kind; askedMs: number; answeredMs: number }> & Showing
type Showing = Readonly<{ status: string | undefined; history: readonly string[] }>

type Kind = 'lists' | 'details' | 'changes'

export const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
const moves = (['approved', 'denied', 'revoked', 'expired', 'conflicted'] as const).map(
  end => `consent.${end}` as const,
)

/** Checks that the views, folded anew from the log, are as they were kept: a fifth of the work of a rebuild. */
async function expectViewsAsKept(averba: Averba): Promise<void> {
  const { position } = await averba.figures()
  const names = views.map(({ name }) => name as keyof Views) // They are the views of this type.
  for (const name of names) {
    const kept = await averba.views.selectFrom(name).selectAll().execute()
    const folded = await averba.viewAsOf(name, { position })
    expect(new Set(kept), name).toEqual(new Set(folded))
    expect(kept).toHaveLength(folded.length)
  }
}

/** The form of a step: what is in braces is captured, and a name there stands for any word. */
function formOf(step: string): RegExp {
  return new RegExp(`^${step.replace(/\{(.+?)\}/g, (_, what) => (/^\w+$/.test(what) ? '(\\S+)' : `(${what})`))}$`)
}

/**
 * One consent of a world, read in a list, at a service whose answers a story rules. A story is a list of steps, in
 * their order, those of every story and these; some change something, the others state what must hold then.
 *
 * | step | meaning |
 * | --- | --- |
 * | `mark then` | names the present instant |
 * | `person REVOGADO` | the consent changes at the service |
 * | `lists old`, `details 503`, `changes lost` | how the service answers from now on: see `answer`; `all now` |
 * | `refuse`, `refuse changes`, `reach` | no request reaches the service; no change does; all do |
 * | `copy` | keeps what the service shows now, for `old` |
 * | `list`, `full`, `settle`, `sync` | reads the list; reads in full; does all that is due; `list` and `settle` |
 * | `revoke deferred`, `revoke 2 settled` | requests it, always as the same command, with this outcome; as another |
 * | `give up` | the denial or revocation that is wanted |
 * | `park`, `retry` | parks what is deferred, retries what is parked |
 * | `hold lists`, `hold lists back` | the next such request waits on its way there, or back |
 * | `begin list`, `open 1`, `open all` | starts a reading or change; lets the first that waits go on, or all |
 * | `is active`, `use active` | the standing; the same of a use |
 * | `use within 5 s stale` | the same of a use that needs a reading no older than that |
 * | `at then active`, `at then-1 as known at then+1 active` | the standing then; just before, as known just after |
 * | `shown REVOGADO known`, `unlisted` | what we list |
 * | `moves revoked:us` | all recorded changes of status, and by whom |
 * | `sent 1`, `not made 1`, `withheld 1`, `anomaly x` | requests of changes; events |
 * | `given up`, `given up isUnsent` | no end was withdrawn; one was, recorded so |
 * | `count`, `asked 3` | counts requests of details from here |
 * | `health bad` | the check of consents |
 *
 * @param first how the service answers from the beginning, about every consent
 */
export async function givenStory(status: 'PENDENTE' | 'ATIVO', options: WorldOptions = {}, first = 'now') {
  const modes: Record<Kind, string> = { lists: first, details: first, changes: 'now' }
  const copies: Partial<Record<Kind, unknown>> = {}
  const holds: { kind: Kind; way: string }[] = []
  /** Lets requests go on that wait on their way there, or back. */
  const held: (() => void)[] = []
  const begun: Promise<unknown>[] = []
  const shown: Shown[] = []
  const marks: Record<string, string> = {}
  let requests = 0
  let now = () => 0
  const counts = { lists: 0, details: 0, changes: 0 }
  let id = ''
  let listRequest: Request | undefined

  /** The answer to a request in a mode. */
  async function answer(kind: Kind, request: Request, forward: (request: Request) => Promise<Response>) {
    const mode = modes[kind]
    const [word, more] = mode.split(' ')
    if (/^\d+$/.test(mode))
      return Response.json({ title: 'Falha pedida', status: Number(mode) }, { status: Number(mode) })
    if (mode === 'busy') return Response.json({}, { status: 503, headers: { 'retry-after': '3600' } })
    if (mode === 'lost') throw new TypeError('reset')
    if (mode === 'garbage') return Response.json({ nada: 1 })
    if (mode === 'old') return Response.json(copies[kind])
    if (mode === 'empty') return Response.json([])
    if (mode === 'page') return page()
    if (word === 'answered') return answerChange(request, more ?? '', forward)
    const response = await forward(request)
    if (mode === 'made') throw new TypeError('reset')
    if (mode === 'behind') return page()
    if (mode === 'now') return response
    const body = (await response.json()) as ShownRecord[] // Or one record, in full.
    if (!Array.isArray(body)) return Response.json(twist(body, mode))
    return Response.json(body.flatMap(each => (id === '' || each.id === id ? [twist(each, mode)].flat() : [each])))
  }

  const page = () => new Response('<html>404</html>', { status: 404, headers: { 'content-type': 'text/html' } })

  function twist(record: ShownRecord, mode: string): object | object[] {
    const [word, more] = mode.split(' ')
    if (word === 'without') return []
    if (word === 'nameless') return { status: 'SUSPENSO' }
    if (word === 'twice') return [{ ...record, status: more }, record]
    if (word === 'as') return { ...record, status: more }
    if (word === 'shortened') return { ...record, historico: record.historico.slice(0, -1) }
    if (word === 'expiring') return { ...record, dataExpiracao: more }
    // Half an hour after the start of the world.
    const later = { ...record.historico[0], status: more, dataHora: '2026-11-20T12:30:00.000Z' }
    if (word === 'extended') return { ...record, historico: [...record.historico, later] }
    if (word === 'ahead') return redate(record, iso => toInstant(Date.parse(iso) + minuteMs))
    if (word === 'rounded') return redate(record, iso => iso.replace(/\.\d+Z$/, 'Z'))
    throw new TypeError(`There is no answer "${mode}"`)
  }

  async function showing(response: Response): Promise<Showing> {
    const body = response.ok ? ((await response.clone().json()) as ShownRecord | ShownRecord[]) : []
    const record = Array.isArray(body) ? body.find(each => each.id === id) : body
    return { status: record?.status, history: record?.historico?.map(each => String(each.status)) ?? [] }
  }

  const redate = (record: ShownRecord, date: (iso: string) => string) => {
    return { ...record, historico: record.historico.map(each => ({ ...each, dataHora: date(each.dataHora) })) }
  }

  /** The answer to a change that shows another status: the change is made only if it ends with `!`. */
  async function answerChange(request: Request, shown: string, forward: (request: Request) => Promise<Response>) {
    if (shown.endsWith('!')) await forward(request)
    const listed = await forward(new Request(request.url.replace(/\/[^/]+\/status\/.*/, '')))
    const records = (await listed.json()) as { id: string }[]
    return Response.json({ ...records.find(each => each.id === id), status: shown.replace('!', '') })
  }

  const given = await givenConsent(
    status,
    async (request, forward) => {
      const isChange = request.method === 'PUT'
      const kind = isChange ? 'changes' : isList(request) ? 'lists' : isDetail(request) ? 'details' : undefined
      if (kind === undefined) return forward(request)
      if (kind === 'lists') listRequest ??= request.clone()
      counts[kind] += 1
      const askedMs = now()
      const index = holds.findIndex(each => each.kind === kind)
      const [hold] = index < 0 ? [] : holds.splice(index, 1)
      const opened = Promise.withResolvers<void>()
      if (hold) held.push(opened.resolve)
      if (hold?.way === 'there') await opened.promise
      const number = ++requests
      const answering = answer(kind, request, forward)
      if (hold?.way === 'back') await Promise.allSettled([answering, opened.promise])
      shown.push({ number, kind, askedMs, answeredMs: now(), ...(await showing(await answering)) })
      return answering
    },
    options,
  )
  const { averba, clock, consentService, faults, samples, subject, which, world } = given
  id = which.id
  now = () => clock.now()
  const { consents } = averba
  const service = 'consentService'
  const peer = { clientName: 'gestora' }
  counts.lists = 0

  const listed = async () => (await consents.list({ subject })).find(each => each.id === id)
  const reasonOfUse = (fresh: { ageMaxMs?: number } = {}) =>
    consents.use({ ...which, ...fresh }, { basis }).then(
      ({ reason }) => reason,
      ({ standing }: ConsentNotEffectiveError) => standing.reason,
    )
  const start: Record<string, () => Promise<unknown>> = {
    list: async () => valueOf(await consents.sync({ subject })),
    full: () => consents.get({ ...which, ageMaxMs: 0 }),
    ...Object.fromEntries(verbs.map(verb => [verb, () => consents[verb](which, { commandId: verb })])),
    settle: () => averba.settle(),
  }

  async function request(verb: Verb, number = ''): Promise<string> {
    const outcome = await consents[verb](which, { commandId: verb + number }).catch(
      ({ code }: { code: string }) => code,
    )
    if (typeof outcome === 'string') return outcome
    return outcome.status === 'declined' ? `declined ${outcome.problem.code ?? outcome.problem.status}` : outcome.status
  }

  async function sync() {
    await start.list?.()
    return averba.settle()
  }

  /** The instant of a mark, perhaps a millisecond before or after it, or an instant itself. */
  function instantOf(text = ''): string {
    const [, mark = '', ms] = /^(\w+?)([-+]1)?$/.exec(text) ?? []
    return mark === '' ? text : toInstant(Date.parse(marks[mark] ?? '') + Number(ms ?? 0))
  }

  async function effectIn(state: 'deferred' | 'parked'): Promise<string> {
    const [effect] = await averba.effects.list({ state })
    return effect?.id ?? ''
  }

  async function copy(): Promise<void> {
    const url = listRequest?.url ?? ''
    copies.lists = await (await consentService.fetch(new Request(url), peer)).json()
    copies.details = await (await consentService.fetch(new Request(`${url}/${id}`), peer)).json()
  }

  async function expectAt(asked: { at?: string; knownAt?: string }, reason = ''): Promise<void> {
    expect((await consents.standing(which, asked)).reason).toBe(reason)
  }

  const steps: Record<string, StoryStep[1]> = {
    'mark {name}': name => Object.assign(marks, { [name ?? '']: toInstant(clock.now()) }),
    'person {status}': to => consentService.change(samples.cpf, id, to as Status),
    sync,
    refuse: () => faults.add({ kind: 'refuse', service }),
    'refuse changes': () => faults.add({ kind: 'refuse', service, method: 'PUT' }),
    reach: () => faults.clear(),
    'give up': async () => expect(await consents.withdrawEnd(which, { reason: 'x' })).toMatchObject({ effect: '' }),
    park: async () => averba.effects.park(await effectIn('deferred')),
    retry: async () => averba.effects.retry(await effectIn('parked')),
    count: () => Object.assign(counts, { details: 0 }),
    'asked {n}': n => expect(counts.details).toBe(Number(n)),
    copy,
    '{list|full|settle}': kind => start[kind ?? '']?.(),
    '{approve|deny|revoke}{ \\d}? {.+}': async (verb, number, outcome) =>
      expect(await request(verb as Verb, number)).toBe(outcome),
    '{lists|details|changes} {.+}': (kind, mode) => Object.assign(modes, { [kind ?? '']: mode }),
    'all now': () => Object.assign(modes, { lists: 'now', details: 'now', changes: 'now' }),
    'hold {lists|details|changes}{ back}?': (kind, back) =>
      holds.push({ kind: kind as Kind, way: back ? 'back' : 'there' }),
    async 'begin {what}'(what = '') {
      const beginning = start[what]?.() ?? Promise.reject(new TypeError(`Cannot begin ${what}`))
      begun.push(beginning.catch(() => undefined))
      await clock.quiet()
    },
    async 'open {which}'(which) {
      if (which === 'all') holds.length = 0
      for (const [index, open] of held.entries()) if (which === 'all' || index === Number(which) - 1) open()
      await clock.quiet()
    },
    'is {reason}': async reason =>
      expect(await consents.standing(which)).toMatchObject({ reason, effective: reason === 'active' }),
    'at {mark} {reason}': (at, reason) => expectAt({ at: instantOf(at) }, reason),
    'as known at {mark} {reason}': (known, reason) => expectAt({ knownAt: instantOf(known) }, reason),
    'at {mark} as known at {mark} {reason}': (at, known, reason) =>
      expectAt({ at: instantOf(at), knownAt: instantOf(known) }, reason),
    'use {reason}': async reason => expect(await reasonOfUse()).toBe(reason),
    'use within {n} {unit} {reason}': async (n, unit, reason) =>
      expect(await reasonOfUse({ ageMaxMs: toMs(n, unit) })).toBe(reason),
    'shown {status} {knowledge}': async (status, knowledge) =>
      expect(await listed()).toMatchObject({ status, knowledge }),
    unlisted: async () => expect(await listed()).toBeUndefined(),
    'sent {n}': n => expect(counts.changes).toBe(Number(n)),
    'health {ok|bad}': async state => expect(await checkOf(averba, 'consents')).toMatchObject({ ok: state === 'ok' }),
    'not made {n}': async n => expect(await eventsOf(world, 'consent.changeNotMade')).toHaveLength(Number(n)),
    'withheld {n}': async n => expect(await eventsOf(world, 'consent.changeWithheld')).toHaveLength(Number(n)),
    'given up': async () => expect(await eventsOf(world, 'consent.endWithdrawn')).toEqual([]),
    'given up {how}': async (how = '') =>
      expect(await eventsOf(world, 'consent.endWithdrawn')).toMatchObject([{ data: { [how]: true } }]),
    async 'anomaly {.+}'(words = '') {
      const anomalies = await Array.fromAsync(averba.log.read(), ({ anomaly }) => anomaly ?? '')
      expect(anomalies).toContainEqual(expect.stringContaining(words))
    },
    async 'moves{.*}'(all) {
      const recorded = await eventsOf(world, ...moves)
      const told = recorded.map(({ type, data }) => ` ${type.slice(8)}:${(data as { by: string }).by}`) // Of each move.
      expect(told.join('')).toBe(all)
    },
  }
  const forms = Object.entries(steps).map(([form, take]) => [formOf(form), take] as const)
  const play = (story: string) => tellInForms(world, forms, story)
  let isOver = false

  /** Lets all that is under way end, and checks that views and parked calls are as the log says: at the latest with the test. */
  async function end(): Promise<void> {
    if (isOver) return
    isOver = true
    await play('open all')
    await clock.finish(Promise.all(begun))
    await expectViewsAsKept(averba)
    const parked = async (at = {}) => (await averba.effects.list({ state: 'parked', ...at })).map(each => each.attempts)
    expect(await parked({ knownAt: (await averba.figures()).position })).toEqual(await parked())
  }
  onTestFinished(end)

  return { ...given, shown, play, end }
}

/**
 * Registers a test for each story, named by what it shows, of a consent that is `ATIVO` at first, or `PENDENTE` if the
 * story begins with `PENDENTE: `.
 */
export function tell(stories: Readonly<Record<string, string>>, options?: WorldOptions): void {
  tellEach(stories, async story => {
    const [, first, steps = ''] = /^\s*(?:(PENDENTE): )?(.*)$/s.exec(story) ?? []
    const { play } = await givenStory(first === 'PENDENTE' ? first : 'ATIVO', options)
    await play(steps)
  })
}

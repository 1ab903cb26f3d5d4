import { expect, test } from 'vitest'
import { type Consent, type ConsentNotEffectiveError, type Recorded, valueOf } from '../../../src/index.ts'
import type { WorldOptions } from '../../../src/simulation/index.ts'
import { toInstant } from '../../../src/vocabulary/instant.ts'
import { isDetail, isList } from '../../support/consent-requests.ts'
import { eventsOf } from '../../support/events-of.ts'
import { givenConsent } from '../../support/given-consent.ts'
import { dayMs, hourMs, minuteMs, passTime } from '../../support/pass-time.ts'
import { playStory, type StoryStep } from '../../support/play-story.ts'

type Status = Consent['status']
type Verb = 'approve' | 'deny' | 'revoke'
/** A record of the service, with its history if it is one in full. */
interface ShownRecord {
  readonly id: string
  readonly historico: readonly { readonly dataHora: string }[]
}

type Kind = 'lists' | 'details' | 'changes'

/** A request of a kind that waits on its way there, or its answer on the way back. */
interface Held {
  readonly kind: Kind
  open(): void
}

/** What an answer showed of the consent, with the number of its request. */
interface Shown {
  readonly number: number
  readonly status: string | undefined
}

export const basis = { purpose: 'credit analysis', legalBasis: 'LGPD 7 I' }
const units = { ms: 1, s: 1_000, min: minuteMs, h: hourMs, d: dayMs } as const
const moves = [
  'consent.approved',
  'consent.denied',
  'consent.revoked',
  'consent.expired',
  'consent.conflicted',
] as const

/**
 * One consent of a world, read in a list, at a service whose answers a story rules. A story is a list of steps, in
 * their order; some change something, the others state what must hold then.
 *
 * | step | meaning |
 * | --- | --- |
 * | `5 s`, `clock -40 d` | time passes; the clock is set |
 * | `person REVOGADO` | the consent changes at the service |
 * | `lists old`, `details 503`, `changes lost` | how the service answers from now on: see `answer`; `all now` |
 * | `copy` | keeps what the service shows now, for `old` |
 * | `list`, `full`, `settle`, `sync` | reads the list; reads in full; does all that is due; `list` and `settle` |
 * | `hourly 24`, `settle hourly 24` | an hour and `sync`, or `settle`, as often |
 * | `revoke deferred`, `revoke 2 settled` | requests it, always as the same command, with this outcome; as another |
 * | `give up` | the denial or revocation that is wanted |
 * | `park`, `retry` | parks what is deferred, retries what is parked |
 * | `hold lists`, `hold lists back` | the next such request waits on its way there, or back |
 * | `begin list`, `open 1`, `open all` | starts a reading or change; lets the first that waits go on, or all |
 * | `is active`, `use active` | the standing; the same of a use |
 * | `shown REVOGADO known`, `unlisted` | what we list |
 * | `moves revoked:us` | all recorded changes of status, and by whom |
 * | `sent 1`, `not made 1`, `withheld 1`, `anomaly x` | requests of changes; events |
 * | `count`, `asked 3` | counts requests of details from here |
 * | `health bad` | the check of consents |
 */
export async function givenStory(status: 'PENDENTE' | 'ATIVO', options: WorldOptions = {}) {
  const modes: Record<Kind, string> = { lists: 'now', details: 'now', changes: 'now' }
  const copies: Partial<Record<Kind, unknown>> = {}
  const holds: { kind: Kind; way: string }[] = []
  const held: Held[] = []
  const begun: Promise<unknown>[] = []
  const shown: Shown[] = []
  let requests = 0
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
    return Response.json(body.flatMap(each => (each.id === id ? [twist(each, mode)].flat() : [each])))
  }

  const page = () => new Response('<html>404</html>', { status: 404, headers: { 'content-type': 'text/html' } })

  function twist(record: ShownRecord, mode: string): object | object[] {
    const [word, more] = mode.split(' ')
    if (word === 'without') return []
    if (word === 'twice') return [{ ...record, status: more }, record]
    if (word === 'as') return { ...record, status: more }
    if (word === 'shortened') return { ...record, historico: record.historico.slice(0, -1) }
    if (word === 'expiring') return { ...record, dataExpiracao: more }
    if (word === 'extended') return { ...record, historico: [...record.historico, laterEntry(record, more)] }
    if (word === 'ahead') return redate(record, iso => toInstant(Date.parse(iso) + minuteMs))
    if (word === 'rounded') return redate(record, iso => iso.replace(/\.\d+Z$/, 'Z'))
    throw new TypeError(`There is no answer "${mode}"`)
  }

  /** An entry half an hour after the start of the world. */
  const laterEntry = ({ historico }: ShownRecord, status = '') => {
    return { ...historico[0], status, dataHora: '2026-11-20T12:30:00.000Z' }
  }

  async function statusIn(response: Response): Promise<string | undefined> {
    if (!response.ok) return undefined
    const body = (await response.clone().json()) as { status?: string } | ({ id: string } & { status: string })[]
    return Array.isArray(body) ? body.find(each => each.id === id)?.status : body.status
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
      const index = holds.findIndex(each => each.kind === kind)
      const [hold] = index < 0 ? [] : holds.splice(index, 1)
      const opened = Promise.withResolvers<void>()
      if (hold) held.push({ kind, open: opened.resolve })
      if (hold?.way === 'there') await opened.promise
      const number = ++requests
      const answering = answer(kind, request, forward)
      if (hold?.way === 'back') await Promise.allSettled([answering, opened.promise])
      shown.push({ number, status: await statusIn(await answering) })
      return answering
    },
    options,
  )
  const { world, subject, which } = given
  id = which.id
  const { averba, clock, consentService, samples } = world
  const { consents } = averba
  const peer = { clientName: 'gestora' }
  counts.lists = 0

  const isWell = async () => (await averba.health({ only: ['consents'] })).checks[0]?.ok
  const listed = async () => (await consents.list({ subject })).find(each => each.id === id)
  const countOf = async (type: Recorded['type']) => (await eventsOf(world, type)).length
  const reasonOfUse = () =>
    consents.use(which, { basis }).then(
      ({ reason }) => reason,
      ({ standing }: ConsentNotEffectiveError) => standing.reason,
    )
  const start: Record<string, () => Promise<unknown>> = {
    list: async () => valueOf(await consents.sync({ subject })),
    full: () => consents.get({ ...which, ageMaxMs: 0 }),
    approve: () => consents.approve(which, { commandId: 'approve' }),
    revoke: () => consents.revoke(which, { commandId: 'revoke' }),
    settle: () => averba.settle(),
  }

  async function request(verb: Verb, number = ''): Promise<string> {
    const outcome = await consents[verb](which, { commandId: verb + number }).catch(
      ({ code }: { code: string }) => code,
    )
    if (typeof outcome === 'string') return outcome
    return outcome.status === 'declined' ? `declined ${outcome.problem.code ?? outcome.problem.status}` : outcome.status
  }

  async function sync(): Promise<void> {
    await start.list?.()
    await averba.settle()
  }

  async function repeat(times = '', work: () => Promise<void>): Promise<void> {
    for (let time = 0; time < Number(times); time++) await work()
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

  const steps: readonly StoryStep[] = [
    [/^(\d+) (ms|s|min|h|d)$/, (n, unit) => clock.advance(Number(n) * units[unit as keyof typeof units])],
    [/^person (\w+)$/, to => consentService.change(samples.cpf, id, to as Status)],
    [/^sync$/, sync],
    [/^hourly (\d+)$/, n => repeat(n, () => clock.advance(hourMs).then(sync))],
    [/^settle hourly (\d+)$/, n => repeat(n, () => passTime(world, hourMs))],
    [/^clock (.\d+) d$/, days => clock.jump(Number(days) * dayMs)],
    [/^give up$/, () => consents.withdrawEnd(which, { reason: 'a pessoa desistiu' })],
    [/^park$/, async () => averba.effects.park(await effectIn('deferred'))],
    [/^retry$/, async () => averba.effects.retry(await effectIn('parked'))],
    [/^count$/, () => Object.assign(counts, { details: 0 })],
    [/^asked (\d+)$/, n => expect(counts.details).toBe(Number(n))],
    [/^settle$/, () => averba.settle()],
    [/^copy$/, copy],
    [/^(list|full)$/, kind => start[kind ?? '']?.()],
    [
      /^(approve|deny|revoke)( \d)? (.+)$/,
      async (verb, number, outcome) => expect(await request(verb as Verb, number)).toBe(outcome),
    ],
    [/^(lists|details|changes) (.+)$/, (kind, mode) => Object.assign(modes, { [kind ?? '']: mode })],
    [/^all now$/, () => Object.assign(modes, { lists: 'now', details: 'now', changes: 'now' })],
    [
      /^hold (lists|details|changes)( back)?$/,
      (kind, back) => holds.push({ kind: kind as Kind, way: back ? 'back' : 'there' }),
    ],
    [
      /^begin (\w+)$/,
      async what => {
        const beginning = start[what ?? '']?.() ?? Promise.reject(new TypeError(`Cannot begin ${what}`))
        begun.push(beginning.catch(() => undefined))
        await clock.quiet()
      },
    ],
    [
      /^open (\d|all)$/,
      async which => {
        if (which === 'all') holds.length = 0
        for (const [index, each] of held.entries()) if (which === 'all' || index === Number(which) - 1) each.open()
        await clock.quiet()
      },
    ],
    [/^is (.+)$/, async reason => expect((await consents.standing(which)).reason).toBe(reason)],
    [/^use (.+)$/, async reason => expect(await reasonOfUse()).toBe(reason)],
    [
      /^shown (\w+) (\w+)$/,
      async (shown, knowledge) => expect(await listed()).toMatchObject({ status: shown, knowledge }),
    ],
    [/^unlisted$/, async () => expect(await listed()).toBeUndefined()],
    [/^sent (\d+)$/, n => expect(counts.changes).toBe(Number(n))],
    [/^health (ok|bad)$/, async state => expect(await isWell()).toBe(state === 'ok')],
    [/^not made (\d+)$/, async n => expect(await countOf('consent.changeNotMade')).toBe(Number(n))],
    [/^withheld (\d+)$/, async n => expect(await countOf('consent.changeWithheld')).toBe(Number(n))],
    [
      /^anomaly (.+)$/,
      async words => {
        const anomalies = await Array.fromAsync(averba.log.read(), ({ anomaly }) => anomaly ?? '')
        expect(anomalies).toContainEqual(expect.stringContaining(words ?? ''))
      },
    ],
    [
      /^moves(.*)$/,
      async all => {
        const recorded = await eventsOf(world, ...moves)
        const told = recorded.map(({ type, data }) => ` ${type.slice(8)}:${(data as { by: string }).by}`) // Of each move.
        expect(told.join('')).toBe(all)
      },
    ],
  ]

  const play = (story: string) => playStory(steps, story)

  /** Lets all that is under way end, and checks that the views can be rebuilt as they are. */
  async function end(): Promise<void> {
    await play('open all')
    await clock.finish(Promise.all(begun))
    expect((await averba.rebuild()).every(view => view.differences === 0)).toBe(true)
  }

  return { ...given, shown, play, end }
}

/**
 * Registers a test for each story, named by what it shows, of a consent that is `ATIVO` at first, or `PENDENTE` if the
 * story begins with `PENDENTE: `.
 */
export function tell(stories: Readonly<Record<string, string>>): void {
  test.each(Object.entries(stories))('%s', async (_, story) => {
    const [, first, steps = ''] = /^\s*(?:(PENDENTE): )?(.*)$/s.exec(story) ?? []
    const { play, end } = await givenStory(first === 'PENDENTE' ? first : 'ATIVO')
    await play(steps)
    await end()
  })
}

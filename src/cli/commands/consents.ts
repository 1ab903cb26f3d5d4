import { readOpenCalls, requireConsent } from '../../console/stream-row.ts'
import { type Averba, AverbaError, type Call, parseCnpj, type SubjectRef, type Views } from '../../index.ts'
import { labelsOf } from '../../pages/labels.ts'
import { defineCommand, defineGroup, type OptionValues } from '../command.ts'
import { configOption, lookInto, sourceOptions, withConfigured } from '../load-config.ts'
import { actOnEach } from '../many.ts'
import { actOptions, limitOption, readActorUnless, rejectSelection } from '../options.ts'
import { formatInstant, type Line } from '../output.ts'
import { formatList, type Row, upToLimit } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { describeWait, toCallJson } from './effects.ts'

type ConsentRow = Views['consents']

const statuses = ['PENDENTE', 'ATIVO', 'NEGADO', 'REVOGADO', 'EXPIRADO'] as const

const filterOptions = {
  '--controller <cnpj>': 'only those of this controller',
  '--status <name>': { text: 'only those with this status', choices: statuses },
  '--subject <ref>': 'only those of this data subject',
  '--ends': 'only those whose denial or revocation has not been made at the service',
} as const

type ConsentFilter = OptionValues<typeof filterOptions>

const listCommand = defineCommand({
  usage: 'list',
  description: 'List the consents as last known, those that expire first at the top, without personal data.',
  options: { ...filterOptions, ...limitOption, ...sourceOptions },
  example: 'averba consents list --ends',
  notes: 'Exit codes: 0 listed, 1 not listed.',
  async run(terminal, { controller, status, subject, ends, limit, ...source }) {
    const filter = { controller, status, subject, ends }
    const found = await lookInto(terminal, source, averba => findConsents(averba, filter, limit))
    const consents = found.shown.map(row => toJson(row, found.calls.get(row.consent)))
    return { result: { consents, more: found.more }, lines: formatConsents(terminal, found) }
  },
})

type FoundConsents = Awaited<ReturnType<typeof findConsents>>

/** Finds consents up to a limit, and the calls that wait, by their consent: of several its change. */
async function findConsents(averba: Averba, filter: ConsentFilter, limit: number) {
  const { shown, more } = upToLimit(await findRows(averba, filter, limit + 1), limit)
  const waiting = shown.filter(row => row.knowledge !== 'known' || row.end_wanted_at !== null)
  const calls = await readOpenCalls(averba, new Set(waiting.map(row => row.consent)))
  const changesLast = calls.sort((a, b) => (a.type < b.type ? 1 : -1)) // changeStatus, and readConsent before it.
  return { shown, more, calls: new Map(changesLast.map(call => [call.stream, call])) }
}

const syncCommand = defineCommand({
  usage: 'sync',
  description: 'Read the consents of data subjects from the service: of one, or of all with consents of a controller.',
  options: { ...filterOptions, ...actOptions, ...configOption },
  example: 'averba consents sync --controller 11222333000181 --actor agent-7',
  notes: 'Exit codes: 0 all are read, 2 one is not yet: averba effects list shows why, 1 one was refused.',
  async run(terminal, { config, actor, dryRun, controller, status, subject, ends }) {
    const by = readActorUnless(dryRun, actor)
    const filter = requireFilter({ controller, status, subject, ends })
    return withConfigured(
      terminal,
      config,
      async averba => {
        // A person who was never read has no rows yet.
        const isOne = subject !== undefined && controller === undefined && status === undefined && !ends
        const subjects = isOne ? [subject] : new Set((await findRows(averba, filter)).map(row => row.subject))
        const act = by && ((ref: string) => averba.consents.sync({ subject: ref as SubjectRef }, by)) // Of a row.
        return actOnEach(terminal, 'subject', [...subjects], { act })
      },
      { onlyLooks: !by },
    )
  },
})

const fittingStatus = { deny: 'PENDENTE', revoke: 'ATIVO', 'withdraw-end': undefined } as const

/** Defines a command that decides on consents: those with the ids, or all that the filter finds. */
function defineDecision(verb: 'deny' | 'revoke' | 'withdraw-end', description: string, example: string) {
  return defineCommand({
    usage: `${verb} [consent...]` as const,
    description,
    arguments: ['the streams of averba consents list; without them all that the options select'],
    options: {
      '--reason <text>': { text: 'why: kept sealed, as data of the person', isRequired: true },
      ...filterOptions,
      ...actOptions,
      ...configOption,
    },
    example: `averba consents ${verb} ${example} --actor agent-7`,
    notes:
      'Exit codes: 0 all are done, 2 one is not known yet: averba run continues it, 1 one was refused or declined.',
    async run(terminal, { config, reason, actor, dryRun, controller, status, subject, ends }, ids) {
      const filter = { controller, status, subject, ends }
      rejectSelection(ids, filter)
      const by = readActorUnless(dryRun, actor)
      return withConfigured(
        terminal,
        config,
        async averba => {
          // Those with another status would be refused.
          const fitting = { status: status ?? fittingStatus[verb], ends: ends || verb === 'withdraw-end' }
          const findAll = () => findRows(averba, { ...requireFilter(filter), ...fitting })
          // Also those that the service no longer lists: their end stays wanted.
          const found = ids.length > 0 ? ids : (await findAll()).map(row => row.consent)
          const look = (stream: string) => requireConsent(averba, stream)
          const method = verb === 'withdraw-end' ? 'withdrawEnd' : verb
          const act = by && (async (stream: string) => averba.consents[method](await look(stream), { reason, ...by }))
          return actOnEach(terminal, 'consent', found, { act, look })
        },
        { onlyLooks: !by },
      )
    },
  })
}

export const consentsCommands = defineGroup('consents', 'Consents of data subjects.', [
  listCommand,
  syncCommand,
  defineDecision('deny', 'Ask the service to deny pending consents.', 'consent-01m7wd7tg0 --reason "asked by phone"'),
  defineDecision(
    'revoke',
    'Ask the service to revoke active consents.',
    '--controller 11222333000181 --reason "ticket 12"',
  ),
  defineDecision(
    'withdraw-end',
    'Give up a denial or revocation that has not been made: it is no longer asked for.',
    'consent-01m7wd7tg0 --reason "asked by phone"',
  ),
])

function requireFilter(filter: ConsentFilter): ConsentFilter {
  const { controller, subject, ends } = filter
  // A status alone would be that of everybody.
  if (ends || controller !== undefined || subject !== undefined) return filter
  throw new AverbaError('INVALID_INPUT', 'Cannot act on consents: it is not said whose', {
    hint: 'Give their streams, or --controller, --subject or --ends, and with these --status',
  })
}

function findRows(
  { views }: Averba,
  { controller, status, subject, ends }: ConsentFilter,
  limit?: number,
): Promise<ConsentRow[]> {
  let query = views.selectFrom('consents').selectAll().where('knowledge', '!=', 'erased')
  if (controller !== undefined) query = query.where('controller', '=', parseCnpj(controller))
  if (status !== undefined) query = query.where('status', '=', status)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  if (ends) query = query.where('end_wanted_at', 'is not', null)
  if (limit !== undefined) query = query.orderBy('lapses_at', order => order.asc().nullsLast()).limit(limit)
  return query.orderBy('consent').execute()
}

function toJson(row: ConsentRow, call: Call | undefined) {
  const { consent, subject, status, knowledge, controller, asked } = row
  return {
    ...{ consent, subject, status, knowledge, controller, asked },
    ...{ expiresAt: row.expires_at, endWantedAt: row.end_wanted_at, changedAt: row.changed_at },
    call: call ? toCallJson(call) : null,
  }
}

function formatConsents(terminal: Terminal, { shown, more, calls }: FoundConsents): Iterable<Line> {
  const { say } = terminal
  const headings = [say`CONSENT`, say`STATUS`, say`CONTROLLER`, say`WHY, UNTIL WHEN, WHAT TO DO`]
  const describe = ({ end_wanted_at: endWantedAt, status, asked, knowledge, lapses_at: lapsesAt }: ConsentRow) => {
    if (endWantedAt !== null) {
      const [since, verb] = [formatInstant(endWantedAt), status === 'PENDENTE' ? 'deny' : 'revoke']
      if (knowledge === 'vanished')
        return say`its end is wanted since ${since}, and it is not listed [${verb}, withdraw-end]`
      return say`its end is wanted since ${since} [${verb}, withdraw-end]`
    }
    const known = labelsOf(say.language).knowledge[knowledge] ?? knowledge
    if (asked !== null) return say`asked to become ${asked}: ${known}`
    if (knowledge !== 'known') return known
    return lapsesAt === null ? '' : say`expires ${formatInstant(lapsesAt)}`
  }
  const table = shown.map((row): Row => {
    const style = row.end_wanted_at !== null ? 'red' : row.knowledge === 'known' ? undefined : 'yellow'
    const call = calls.get(row.consent)
    const why = call ? `${describe(row)}; ${call.id}: ${describeWait(say, call)}` : describe(row)
    return { cells: [row.consent, row.status, row.controller ?? '', why], style }
  })
  return formatList(terminal, headings, table, { none: say`No consents.`, more })
}

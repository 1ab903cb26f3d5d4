import { assign, type SnapshotFrom, setup } from 'xstate'
import { actionsOf, reports, typesOf } from '../definition/chart-rules.ts'
import type { ConsentEvent } from './events.ts'
import {
  afterAppearing,
  afterDescription,
  afterMove,
  type ConsentContext,
  type ConsentView,
  countRequests,
  endsOpenChange,
  initialContext,
  isMaybeMade,
  isMaybeSent,
  isNeverSent,
  isWantedEnd,
  moveTypes,
  type OpenChange,
  showingTypes,
  showsStatus,
} from './moves.ts'
import { isEndShown } from './standing.ts'
import {
  type ConsentStatus,
  consentStatuses,
  moves,
  moveType,
  type RequestableStatus,
  requestableStatuses,
} from './status.ts'

function each<T extends ConsentEvent['type'], const V>(types: readonly T[], transition: V): Readonly<Record<T, V>> {
  return Object.fromEntries(types.map(type => [type, transition])) as Record<T, V> // One for each.
}

/** The transitions of events that change nothing in a region, but that its state takes. */
const taken = <T extends ConsentEvent['type']>(...types: readonly T[]) => each(types, {})

const asks = (params: { status?: ConsentStatus; instead?: RequestableStatus }) =>
  ({ guard: { type: 'reports', params } }) as const
// The service's status counts, even when its table has no such transition.
const asShown = consentStatuses.map(
  status => ({ ...asks({ status }), target: `#consent.status.listed.${status}`, actions: 'keepStatus' }) as const,
)
/** The changes of the contract's table, by readings and by our requests. */
const movesFrom = (held: 'PENDENTE' | 'ATIVO') => {
  const shown = Object.entries(moves[held]).map(([target, type]) => [type, { target, actions: 'keepStatus' }] as const)
  const asked = requestableStatuses.filter(status => moveType(held, status))
  return { ...Object.fromEntries(shown), 'consent.changeRequested': asked.map(status => asks({ status })) }
}
const refusesRequest = (refused: string) => ({ refuses: { 'consent.changeRequested': { refused } } })
const onlyFrom = (status: string) =>
  refusesRequest(`it is ${status}: only PENDENTE becomes ATIVO or NEGADO, and only ATIVO REVOGADO`)

const changeEnds = <const G extends string>(guard: G) =>
  each(showingTypes, [{ guard, target: 'none', actions: 'forgetChange' }, {}])
const endings = ['NEGADO', 'REVOGADO'] as const
const notMade = { 'consent.changeNotMade': { target: 'none', actions: 'forgetChange' } } as const
/** An event that withdraws the request that waits, if one does. */
const waitingEnds = [
  { guard: 'isNeverSent', target: 'none', actions: 'forgetChange' },
  { guard: 'isMaybeSent', target: 'contrary' },
  {},
] as const
const isBeingRead = refusesRequest('the last change may have been made: a reading will show it')
const doubtEnds = { target: 'known', actions: 'forgetShown' } as const

const keep = actionsOf<ConsentEvent, ConsentContext>()

/** The chart of a consent: its status, whether readings agree with it, our own change, and whether it was erased. */
export const chart = setup({
  types: typesOf<ConsentEvent, ConsentContext>(),
  guards: {
    reports,
    isEndShown: ({ context }) => isEndShown(context.shown),
    endsRequestedChange: ({ context, event }) => endsIn({ ...context, change: 'requested' }, event),
    endsLostChange: ({ context, event }) => endsIn({ ...context, change: 'lost' }, event),
    isStillAsked: ({ context, event }) => event.type === 'consent.changeWithheld' && event.data.asked === context.asked,
    isNeverSent: ({ context, event }) => withdraws(event) && isNeverSent(context, event.data),
    isMaybeSent: ({ context, event }) => withdraws(event) && isMaybeSent(context, event.data),
    // One that was given up on its way may still have been made.
    replacesNoSentEnd: ({ event }) =>
      event.type === 'consent.changeRequested' && (event.data.isUnsent || (event.data.instead ?? 'ATIVO') === 'ATIVO'),
    isMaybeMade: ({ context, event }) => event.type === 'consent.changeWithheld' && isMaybeMade(context, event.data),
    isWantedEnd: ({ context: { endWantedAt, lostAt }, event }) =>
      showsStatus(event) && isWantedEnd({ endWantedAt, isLost: lostAt !== null }, event.data),
  },
  actions: {
    keepReading: keep('consent.amended', ({ data }) => ({ reading: data })),
    keepStatus: keep(['consent.appeared', ...moveTypes], (event, context) =>
      event.type === 'consent.appeared' ? afterAppearing(context, event) : afterMove(context, event.data),
    ),
    keepHistory: keep('consent.described', (event, context) => afterDescription(context, event)),
    keepShown: keep('consent.changeSeen', ({ data: { status, isOld = false, ...times } }) => ({
      ...{ shown: status ?? 'unreadable', shownIn: times, isShownOld: isOld },
    })),
    forgetShown: assign({ shown: null, shownIn: {}, isShownOld: false }),
    keepRequest: keep('consent.changeRequested', (event, context) => {
      const { status, askedAt = null, until = null } = event.data
      return {
        ...{ asked: status, askedAt, askedUntil: until, lostAt: null, refusedEnd: null },
        ...{ statusesSinceRequest: [context.reading.status], requests: countRequests(context, event) },
      }
    }),
    keepRepeat: keep('consent.changeRepeated', (event, context) => ({
      ...{ asked: event.data.status, askedAt: event.data.askedAt, lostAt: null, refusedEnd: null },
      requests: countRequests(context, event),
    })),
    keepRefusal: assign({ refusedEnd: ({ context }) => context.asked, asked: null, askedAt: null, lostAt: null }),
    // Readings ask again for an approval until then.
    noteGivenUp: keep('consent.changeWithheld', ({ data }, { askedUntil, askedAt }) => ({
      ...{ askedUntil: data.isGivenUp ? null : askedUntil, lostAt: askedAt },
    })),
    wantEnd: keep('consent.changeRequested', ({ data: { askedAt = null } }) => ({
      ...{ endWantedAt: askedAt, askableAt: askedAt },
    })),
    keepEnd: keep('consent.endWanted', (event, context) => ({
      ...{ endWantedAt: event.data.askedAt ?? null, askableAt: null, refusedEnd: null },
      ...{ statusesSinceRequest: [context.reading.status], requests: countRequests(context, event) },
    })),
    forgetEnd: assign({ endWantedAt: null }),
    keepLoss: keep(['consent.changeLost', 'consent.changeContradicted'], ({ data }, { askedAt }) => ({
      lostAt: data.lostAt ?? askedAt,
    })),
    forgetChange: assign({ asked: null, askedAt: null, lostAt: null }),
    keepLapse: keep('consent.lapsed', ({ data }) => ({ lapsed: data.expiresAt })),
  },
}).createMachine({
  id: 'consent',
  description: 'A consent request of one data subject, as the consent service keeps it.',
  context: initialContext,
  type: 'parallel',
  on: { 'consent.unexpected': {} },
  states: {
    status: {
      description: 'Its status at the service.',
      initial: 'absent',
      states: {
        absent: {
          description: 'No reading has shown it.',
          on: { 'consent.appeared': asShown },
          meta: { refusesAll: { refused: 'nothing is known of it' } },
        },
        listed: {
          description: 'The service lists it, with one of the five statuses of the contract.',
          initial: 'PENDENTE',
          on: {
            ...taken('consent.confirmed', 'consent.changeSeen', 'consent.detailRequested'),
            'consent.conflicted': asShown,
            'consent.described': { actions: 'keepHistory' },
            'consent.amended': { actions: 'keepReading' },
            'consent.vanished': 'vanished',
          },
          states: {
            PENDENTE: {
              description: 'The data subject has not decided.',
              on: { 'consent.lapsed': { actions: 'keepLapse' }, ...movesFrom('PENDENTE') },
              meta: onlyFrom('PENDENTE'),
            },
            ATIVO: {
              description: 'The data subject consents.',
              on: { 'consent.lapsed': { actions: 'keepLapse' }, ...movesFrom('ATIVO'), 'consent.used': {} },
              meta: onlyFrom('ATIVO'),
            },
            NEGADO: { description: 'The data subject, or we for them, denied it.', meta: onlyFrom('NEGADO') },
            REVOGADO: { description: 'It was active, and was revoked.', meta: onlyFrom('REVOGADO') },
            EXPIRADO: { description: 'Its date has passed, as the service shows.', meta: onlyFrom('EXPIRADO') },
          },
        },
        vanished: {
          description:
            'The service no longer lists it: it cannot be used, and a denial or revocation is kept, until it is listed again.',
          on: {
            'consent.appeared': asShown,
            // The answer to a change that was requested before: PENDENTE contradicts it.
            'consent.conflicted': asShown.slice(1),
            'consent.described': { actions: 'keepHistory' },
            ...taken('consent.endWanted', 'consent.changeSeen'),
          },
          meta: { refusesAll: { refused: 'the service no longer lists it' } },
        },
      },
    },
    knowledge: {
      description: 'Whether readings agree with the known status.',
      initial: 'known',
      states: {
        known: {
          description: 'No reading differs.',
          on: {
            ...taken(
              ...moveTypes,
              'consent.appeared',
              'consent.vanished',
              'consent.confirmed',
              'consent.changeRequested',
            ),
            'consent.used': {},
            'consent.changeSeen': { target: 'changed', actions: 'keepShown' },
            'consent.changeDeclined': 'changed',
          },
        },
        changed: {
          description: 'A reading differs, or the service refused a change that it should allow: it is read in full.',
          on: {
            ...each(moveTypes, doubtEnds),
            // An end that was shown before it vanished is still to be read.
            'consent.appeared': [{ guard: 'isEndShown' }, doubtEnds],
            'consent.vanished': {},
            'consent.confirmed': doubtEnds,
            'consent.changeSeen': { actions: 'keepShown' },
            'consent.changeDeclined': {},
          },
          meta: refusesRequest('the service shows another status: its history is being read'),
        },
      },
    },
    change: {
      description: 'A change that we requested.',
      initial: 'none',
      on: {
        'consent.changeWithheld': [
          { guard: 'isMaybeMade', target: '.contrary', actions: 'noteGivenUp' },
          { guard: 'isStillAsked', target: '.none', actions: 'forgetChange' },
          {},
        ],
        ...taken('consent.endWithdrawn', 'consent.endWanted'),
      },
      states: {
        none: {
          description: 'No change of ours is open.',
          on: {
            ...taken(...showingTypes, 'consent.used'),
            'consent.changeRequested': { target: 'requested', actions: 'keepRequest' },
            'consent.changeRepeated': { target: 'requested', actions: 'keepRepeat' },
          },
        },
        requested: {
          description: 'Our change was requested and not answered.',
          on: {
            ...changeEnds('endsRequestedChange'),
            // Another change replaces one that waits.
            'consent.changeRequested': requestableStatuses.map(
              instead => ({ ...asks({ instead }), actions: 'keepRequest' }) as const,
            ),
            'consent.changeDeclined': { target: 'none', actions: 'keepRefusal' },
            ...each(['consent.endWithdrawn', 'consent.endWanted'], waitingEnds),
            'consent.changeLost': { target: 'lost', actions: 'keepLoss' },
            'consent.changeContradicted': { target: 'contrary', actions: 'keepLoss' },
          },
          meta: refusesRequest('another change has not been answered yet'),
        },
        lost: {
          description: 'The answer to our change was lost: a reading shows what became of it.',
          on: { ...changeEnds('endsLostChange'), ...notMade },
          meta: isBeingRead,
        },
        contrary: {
          description: 'The answers to our change did not show that it was made: a reading shows what became of it.',
          on: { ...changeEnds('endsLostChange'), ...notMade },
          meta: isBeingRead,
        },
      },
    },
    end: {
      description: 'Whether a denial or a revocation was asked for and is still wanted.',
      initial: 'unwanted',
      states: {
        unwanted: {
          description: 'No end was asked for.',
          on: {
            ...taken(...showingTypes, 'consent.used'),
            'consent.changeRequested': [
              ...endings.map(status => ({ ...asks({ status }), target: 'wanted', actions: 'wantEnd' }) as const),
              { guard: 'replacesNoSentEnd' },
            ],
            'consent.endWanted': { target: 'wanted', actions: 'keepEnd' },
          },
          meta: {
            refuses: {
              ...isBeingRead.refuses,
              'consent.endWithdrawn': { refused: 'no denial or revocation is wanted' },
            },
          },
        },
        wanted: {
          description: 'Its end was asked for, and none has been shown: nothing is used, and it is asked for again.',
          on: {
            ...each(showingTypes, [{ guard: 'isWantedEnd', target: 'unwanted', actions: 'forgetEnd' }, {}]),
            'consent.approved': {},
            'consent.endWanted': { actions: 'keepEnd' },
            'consent.endWithdrawn': { target: 'unwanted', actions: 'forgetEnd' },
            'consent.changeRequested': [
              // An end from before the newer request does not end it.
              ...endings.map(status => ({ ...asks({ status }), actions: 'wantEnd' }) as const),
            ],
          },
          meta: refusesRequest('its end was asked for and is still wanted: consents.withdrawEnd gives it up'),
        },
      },
    },
    reading: {
      description: 'Whether a full reading was requested and has not ended.',
      initial: 'none',
      on: {
        'consent.detailRequested': '.requested',
        ...each(['consent.described', 'consent.readDeclined', 'consent.readGivenUp'], '.none'),
      },
      states: {
        none: { description: 'No full reading is open.' },
        requested: { description: 'A full reading was requested.' },
      },
    },
    data: {
      description: 'Whether its personal data is kept.',
      initial: 'kept',
      states: {
        kept: {
          description: 'Its data subject was not erased.',
          on: {
            ...taken(
              ...moveTypes,
              ...(['consent.appeared', 'consent.changeSeen', 'consent.changeDeclined', 'consent.changeLost'] as const),
              ...(['consent.changeContradicted', 'consent.changeWithheld', 'consent.endWithdrawn'] as const),
              ...(['consent.amended', 'consent.vanished', 'consent.lapsed', 'consent.confirmed'] as const),
              ...(['consent.changeRequested', 'consent.changeNotMade', 'consent.answeredLate'] as const),
              ...(['consent.described', 'consent.readDeclined'] as const),
              ...(['consent.readGivenUp', 'consent.used', 'consent.useRefused'] as const),
              ...(['consent.changeRepeated', 'consent.detailRequested', 'consent.endWanted'] as const),
            ),
            'consent.erased': 'erased',
          },
        },
        erased: {
          description: 'Its data subject was erased: nothing changes it any more.',
          meta: { refusesAll: { refused: 'its data subject was erased', code: 'SUBJECT_ERASED' } },
        },
      },
    },
  },
})

function endsIn(open: OpenChange, event: ConsentEvent): boolean {
  return showsStatus(event) && endsOpenChange(open, event.data)
}

/** Whether an event may withdraw a request that waits. */
function withdraws(event: ConsentEvent) {
  return event.type === 'consent.endWithdrawn' || event.type === 'consent.endWanted'
}

export type ConsentChartState = SnapshotFrom<typeof chart>

/** Returns the machine's state in the form that decisions about readings need. */
export function heldOf({ context, value }: ConsentChartState): ConsentView {
  const isVanished = value.status === 'vanished'
  const isEndWanted = value.end === 'wanted'
  return {
    ...context,
    isVanished,
    isUnknown: isVanished || value.status === 'absent',
    isUncertain: value.knowledge === 'changed',
    isReadingPending: value.reading === 'requested',
    isEndWanted,
    isEndPossible: isEndWanted || (context.asked !== null && context.asked !== 'ATIVO'),
    change: value.change,
  }
}

import type { Fault } from '../../src/simulation/faults/fault.ts'
import type { Crash } from './crash-points.ts'

/** What is done in a run, as data: it can be left out, printed, and done again. Numbers choose among what is there. */
export type Deed =
  | { readonly do: 'enrol'; readonly person: number; readonly everyHours: number }
  /** The service gets a consent request of somebody. */
  | {
      readonly do: 'offer'
      readonly person: number
      readonly company: number
      readonly hours: number
      readonly isActive: boolean
    }
  | { readonly do: 'sync'; readonly person: number }
  | {
      readonly do: 'change'
      readonly person: number
      readonly consent: number
      readonly verb: 'approve' | 'deny' | 'revoke'
    }
  /** The data subject changes a consent at the service, behind our back. */
  | {
      readonly do: 'changeThere'
      readonly person: number
      readonly consent: number
      readonly to: 'ATIVO' | 'NEGADO' | 'REVOGADO'
    }
  | { readonly do: 'use'; readonly person: number; readonly consent: number; readonly ageMaxMinutes: number }
  /** Validations at once, of a person and those after; an earlier answer to the same may do where `hours` says so. */
  | {
      readonly do: 'validate'
      readonly person: number
      readonly isTrue: boolean
      readonly count: number
      readonly hours: number
    }
  /** A validation that names a consent. */
  | { readonly do: 'validateUnder'; readonly person: number; readonly consent: number }
  /** Pays again for an inconclusive validation, on purpose. */
  | { readonly do: 'payAgain'; readonly which: number }
  | { readonly do: 'logIn'; readonly person: number; readonly hours: number }
  /** Gives the subscription whose secret is derived the next one. */
  | { readonly do: 'rotate' }
  /** An operator holds a call that has not left. */
  | { readonly do: 'hold'; readonly which: number }
  /** Asks for an earlier validation again, or with other claims under its id. */
  | { readonly do: 'validateAgain'; readonly which: number; readonly isOther: boolean }
  /** A person finds out what became of inconclusive validations. */
  | { readonly do: 'resolve'; readonly isCharged: boolean }
  | { readonly do: 'apply'; readonly deletions: boolean }
  /** Somebody else deletes or changes a subscription of ours at the portal. */
  | { readonly do: 'meddle'; readonly evento: number; readonly how: 'delete' | 'change' }
  | {
      readonly do: 'notify'
      readonly evento: number
      readonly to: number
      readonly count: number
      readonly copies: number
    }
  /** The token dies before its time. */
  | { readonly do: 'endToken' }
  /** A data subject is erased, with what was asked of them still under way; or all but what the law has kept. */
  | { readonly do: 'erase'; readonly person: number; readonly isBusy: boolean; readonly keeps: boolean }
  /** What was kept of somebody who was erased goes too. */
  | { readonly do: 'eraseRest' }
  /** Somebody opens what is sealed of a person. */
  | { readonly do: 'reveal'; readonly person: number }
  /** A person logs in, and the host looks. */
  | { readonly do: 'logInNow'; readonly person: number }
  /** A consent is read in full, past the list. */
  | { readonly do: 'readInFull'; readonly person: number; readonly consent: number }
  /** Somebody has a notification handled once more. */
  | { readonly do: 'handleAgain'; readonly which: number }
  | { readonly do: 'backUp' }
  /** The log is lost: the newest backup takes its place, and the host erases again whom it had erased since. */
  | { readonly do: 'restore' }
  /** A second engine on the same store; both are asked for the same, and both run. */
  | { readonly do: 'beside'; readonly person: number; readonly count: number; readonly seconds: number }
  /** An engine stands still with an answer that it has not read; another takes over, and then it goes on. */
  | {
      readonly do: 'pause'
      readonly person: number
      readonly what: 'validate' | 'sync' | 'settle' | 'apply'
      readonly minutes: number
      /** The answer is that it is not done. */
      readonly isDeclined: boolean
      /** The person is erased before the answer is read. */
      readonly erases: boolean
    }
  /** The host no longer wants to be notified of something, then it does again; the portal's answer to either may be lost. */
  | {
      readonly do: 'changeMind'
      readonly evento: number
      readonly fault: Fault | undefined
      /** In between somebody else registers it, just as we would. */
      readonly isTaken: boolean
    }
  /** Machines and views of a newer version open the store. */
  | { readonly do: 'upgrade'; readonly machine: number; readonly view: number }
  | { readonly do: 'settle' }
  | { readonly do: 'run'; readonly seconds: number }
  /** An operator lets go what is parked. */
  | { readonly do: 'operate' }
  | { readonly do: 'rebuild' }
  | { readonly do: 'look'; readonly person: number }
  | { readonly do: 'reopen' }
  | { readonly do: 'fail'; readonly who: 'follower' | 'handler'; readonly times: number }
  | { readonly do: 'fault'; readonly fault: Fault }
  | { readonly do: 'calm' }
  | { readonly do: 'crash'; readonly crash: Crash }
  | { readonly do: 'fillDisk'; readonly minutes: number }
  | { readonly do: 'jump'; readonly ms: number }

/** A deed and its time, in milliseconds since the beginning. Its id stays when others are left out. */
export type Step = Deed & { readonly id: number; readonly at: number }

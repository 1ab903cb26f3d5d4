import type { Fault } from '../../src/adapters/fault.ts'
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

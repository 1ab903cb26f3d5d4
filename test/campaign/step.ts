import type { Fault } from '../../src/simulation/faults/fault.ts'
import type { Crash } from './crash-points.ts'

/** An action of a run, as data: it can be left out, printed, and repeated. Numbers select among the existing items. */
export type Deed =
  | { readonly do: 'enrol'; readonly person: number; readonly everyHours: number }
  /** The service gets a consent request for a person. */
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
  /** The data subject changes a consent directly at the service. */
  | {
      readonly do: 'changeThere'
      readonly person: number
      readonly consent: number
      readonly to: 'ATIVO' | 'NEGADO' | 'REVOGADO'
    }
  | { readonly do: 'use'; readonly person: number; readonly consent: number; readonly ageMaxMinutes: number }
  /** Concurrent validations of `count` people from `person` on; an answer of the last `hours` may be reused. */
  | {
      readonly do: 'validate'
      readonly person: number
      readonly isTrue: boolean
      readonly count: number
      readonly hours: number
    }
  /** A validation that names a consent. */
  | { readonly do: 'validateUnder'; readonly person: number; readonly consent: number }
  /** Deliberately pays again for an inconclusive validation. */
  | { readonly do: 'payAgain'; readonly which: number }
  | { readonly do: 'logIn'; readonly person: number; readonly hours: number }
  /** Rotates the derived secret of a subscription. */
  | { readonly do: 'rotate' }
  /** An operator parks a deferred effect. */
  | { readonly do: 'hold'; readonly which: number }
  /** Repeats an earlier validation, with the same claims or with others. */
  | { readonly do: 'validateAgain'; readonly which: number; readonly isOther: boolean }
  /** A person resolves inconclusive validations. */
  | { readonly do: 'resolve'; readonly isCharged: boolean }
  | { readonly do: 'apply'; readonly deletions: boolean }
  /** Another client deletes or changes a subscription of ours at the portal. */
  | { readonly do: 'meddle'; readonly evento: number; readonly how: 'delete' | 'change' }
  | {
      readonly do: 'notify'
      readonly evento: number
      readonly to: number
      readonly count: number
      readonly copies: number
    }
  /** The token ends early. */
  | { readonly do: 'endToken' }
  /** Erases a data subject, while calls about them are under way (`isBusy`), or except the parts that the law keeps. */
  | { readonly do: 'erase'; readonly person: number; readonly isBusy: boolean; readonly keeps: boolean }
  /** Erases the parts that an earlier erasure kept. */
  | { readonly do: 'eraseRest' }
  /** An employee reveals the sealed data of a person. */
  | { readonly do: 'reveal'; readonly person: number }
  /** A person logs in, and the host reads the login state. */
  | { readonly do: 'logInNow'; readonly person: number }
  /** Reads a consent in full, without reading the list first. */
  | { readonly do: 'readInFull'; readonly person: number; readonly consent: number }
  /** An operator replays a notification. */
  | { readonly do: 'handleAgain'; readonly which: number }
  | { readonly do: 'backUp' }
  /** Restores the newest backup. The host repeats the erasures made since the backup. */
  | { readonly do: 'restore' }
  /** Runs a second engine on the same store; both get the same commands. */
  | { readonly do: 'beside'; readonly person: number; readonly count: number; readonly seconds: number }
  /** An engine pauses with an unread answer; another takes over, and then the first continues. */
  | {
      readonly do: 'pause'
      readonly person: number
      readonly what: 'validate' | 'sync' | 'settle' | 'apply'
      readonly minutes: number
      /** The service declines the call. */
      readonly isDeclined: boolean
      /** The person is erased before the answer is read. */
      readonly erases: boolean
    }
  /** The host removes a subscription and adds it again; the fault may hit either change. */
  | {
      readonly do: 'changeMind'
      readonly evento: number
      readonly fault: Fault | undefined
      /** Another client registers the same subscription in between. */
      readonly isTaken: boolean
    }
  /** Opens the store with newer machines and views. */
  | { readonly do: 'upgrade'; readonly machine: number; readonly view: number }
  | { readonly do: 'settle' }
  | { readonly do: 'run'; readonly seconds: number }
  /** An operator retries everything that is parked. */
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

/** A deed and its time in milliseconds since the start. Its id stays the same when other steps are left out. */
export type Step = Deed & { readonly id: number; readonly at: number }

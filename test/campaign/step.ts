import type { Fault } from '../../src/simulation/faults/fault.ts'
import type { Crash } from './crash-points.ts'

type PausedWork = 'validate' | 'sync' | 'settle' | 'apply'

/** What each kind of deed needs to know. Numbers select among the existing items. */
export interface Deeds {
  enrol: { person: number; everyHours: number }
  /** Begins, changes or ends the scheduled readings of a person. */
  schedule: { person: number; everyHours: number | null }
  /** The service gets a consent request for a person. */
  offer: { person: number; company: number; hours: number; isActive: boolean }
  sync: { person: number; company?: number | null }
  change: { person: number; consent: number; verb: 'approve' | 'deny' | 'revoke' | 'withdrawEnd' }
  /** The data subject changes a consent directly at the service. */
  changeThere: { person: number; consent: number; to: 'ATIVO' | 'NEGADO' | 'REVOGADO' }
  use: { person: number; consent: number; ageMaxMinutes: number }
  /** Concurrent validations of `count` people from `person` on; an answer of the last `hours` may be reused. */
  validate: { person: number; isTrue: boolean; count: number; hours: number }
  /** A validation that names a consent. */
  validateUnder: { person: number; consent: number }
  /** Deliberately pays again for an inconclusive validation. */
  payAgain: { which: number }
  logIn: { person: number; hours: number }
  /** Rotates the derived secret of a subscription. */
  rotate: object
  /** An operator parks a deferred effect. */
  hold: { which: number }
  /** Repeats an earlier validation, with the same claims or with others. */
  validateAgain: { which: number; isOther: boolean }
  /** A person resolves inconclusive validations. */
  resolve: { isCharged: boolean }
  apply: { deletions: boolean }
  /** Another client deletes or changes a subscription of ours at the portal. */
  meddle: { evento: number; how: 'delete' | 'change' }
  notify: { evento: number; to: number; count: number; copies: number }
  endToken: object
  /** Erases a data subject, while calls about them are under way (`isBusy`), or except the parts that the law keeps. */
  erase: { person: number; isBusy: boolean; keeps: boolean }
  /** Erases the parts that an earlier erasure kept. */
  eraseRest: object
  /** An employee reveals the sealed data of a person. */
  reveal: { person: number }
  /** A person logs in, and the host reads the login state. */
  logInNow: { person: number }
  /** Reads a consent in full, without reading the list first. */
  readInFull: { person: number; consent: number }
  /** An operator replays a notification, or gives up one whose handler failed. */
  handleAgain: { which: number; givesUp: boolean }
  backUp: object
  /** Restores the newest backup. The host repeats the erasures made since the backup. */
  restore: object
  /** Runs a second engine on the same store; both get the same commands. */
  beside: { person: number; count: number; seconds: number }
  /**
   * An engine pauses with an unread answer; another takes over, and then the first continues. `isDeclined`: the service
   * declines the call. `erases`: the person is erased before the answer is read.
   */
  pause: { person: number; what: PausedWork; minutes: number; isDeclined: boolean; erases: boolean }
  /**
   * The host removes a subscription and adds it again; the fault may hit either change. `isTaken`: another client
   * registers the same subscription in between.
   */
  changeMind: { evento: number; fault: Fault | undefined; isTaken: boolean }
  /** Opens the store with newer machines and views. */
  upgrade: { machine: number; view: number }
  settle: object
  run: { seconds: number }
  /** An operator retries everything that is parked. */
  operate: object
  rebuild: object
  look: { person: number }
  reopen: object
  fail: { who: 'follower' | 'handler'; times: number }
  fault: { fault: Fault }
  calm: object
  crash: { crash: Crash }
  fillDisk: { minutes: number }
  jump: { ms: number }
}

/** An action of a run, as data: it can be left out, printed, and repeated. */
export type Deed = { [K in keyof Deeds]: { readonly do: K } & Readonly<Deeds[K]> }[keyof Deeds]

/** A deed and its time in milliseconds since the start. Its id stays the same when other steps are left out. */
export type Step = Deed & { readonly id: number; readonly at: number }

/**
 * averba: consents, identity validations and customs webhooks of Brazilian services, in an append-only log.
 *
 * @packageDocumentation
 */

import { explainMissing } from './api/arguments.ts'
import type { Averba, AverbaOptions } from './averba/averba.ts'
import { type OptionNames, openedNames, placeNames, verifyNames } from './operations/option-names.ts'
import { asDenied } from './vocabulary/connection-errors.ts'
import { checkKnownNames } from './vocabulary/names.ts'
import { requireNode } from './vocabulary/node-version.ts'

// The contracts' tables, with the contracts' own field names.
export type {
  CienciaDetalhada,
  CienciaResumida,
  ConsentimentoDetalhado,
  ConsentimentoResumido,
  TitularAutenticadoStatus,
  TitularLoginUrl,
} from './adapters/consent/wire.ts'
export type { Certificate } from './adapters/credentials/certificate.ts'
export { Secret, type SecretSource, type Source } from './adapters/credentials/secret.ts'
export { type PortalAuthentication, staticHeaders } from './adapters/portal/authentication.ts'
export { type PortalLogin, portalAccessKeys, portalSession } from './adapters/portal/login.ts'
export type { Assinatura, AssinaturaListada, Falha, RecipientKind } from './adapters/portal/wire.ts'
export type { Receiver } from './adapters/receiver/receiver.ts'
export type { ReceiverServer, ServeReceiversOptions } from './adapters/receiver/serve-receivers.ts'
export type { TokenResponse } from './adapters/token/wire.ts'
export type { FieldResult } from './adapters/validation/protocol.ts'
export type { Claims, ValidationResponse } from './adapters/validation/wire.ts'
export type { Audit, DiscloseOptions } from './api/audit/module.ts'
export type { Awareness, AwarenessArea, AwarenessDetail } from './api/consents/awareness.ts'
export type { DecisionEvidence } from './api/consents/changes.ts'
export type { Standing } from './api/consents/consent-events.ts'
export type { Consent, ConsentDetail, Consents, OwnedConsent } from './api/consents/consents.ts'
export type { Enrolments } from './api/consents/enrolments.ts'
export type { LoginState, Logins } from './api/consents/logins.ts'
export { ConsentNotEffectiveError } from './api/consents/not-effective-error.ts'
export type { FreshnessOptions, SyncResult, SyncSelector } from './api/consents/readings.ts'
export type { Standings } from './api/consents/standings.ts'
export type { Events, Recorded } from './api/events.ts'
export type { Examination } from './api/health/examine.ts'
export type { Health, HealthOptions } from './api/health/module.ts'
export type { HealthCheck } from './api/health-check.ts'
export type { Call, CallDetail, Effects } from './api/log/effects.ts'
export type { Log } from './api/log/log.ts'
export type { StateStep, StreamState } from './api/log/stream-state.ts'
export type { DueItem, Figures, PendingFigure } from './api/module.ts'
export type { Notification } from './api/notifications/notification.ts'
export type { HandlerOptions, Notifications } from './api/notifications/notifications.ts'
export type { RetentionRule, SubscriptionDeclaration, TracingOptions } from './api/options.ts'
export type { ConsentQuestion } from './api/reports/consent-proof.ts'
export type { ErasureReceipt } from './api/reports/erasure-receipt.ts'
export type { Period } from './api/reports/processing.ts'
export type { RecordSelector, SubjectRef, SubjectSelector } from './api/subject-directory.ts'
export type { EraseOptions, Erasures } from './api/subjects/erasures.ts'
export type { DataSubjects, SubjectPageOptions } from './api/subjects/module.ts'
export type { RevealedRow, Reveals } from './api/subjects/reveals.ts'
export type { Failure, Failures, RecoveryResult } from './api/subscriptions/failures/failures.ts'
export type { Plan, PlannedChange } from './api/subscriptions/plan.ts'
export type { ApplyOptions, ApplyResult, Subscription, Subscriptions } from './api/subscriptions/subscriptions.ts'
export type { UnreadAnswer } from './api/unread-answer.ts'
export type { Validation } from './api/validations/validation.ts'
export type { ValidationCommandOptions, ValidationInput, Validations } from './api/validations/validations.ts'
export type { Averba, AverbaOptions, ListenerPayload, RunOptions } from './averba/averba.ts'
export type { IndexRebuildResult } from './averba/rebuild-index.ts'
export type { AttemptReport, EngineEvents } from './engine/diagnostics.ts'
export type { KnownFollower as Follower } from './engine/following/followers.ts'
export type { HandlerCall, HandlerError, HandlerTime } from './engine/following/handler-call.ts'
export type { ConsentStatus } from './machines/consent/status.ts'
export type { HandlerState } from './machines/notification.ts'
export type { VerifyLogOptions } from './operations/audit.ts'
export type { ResumeResult } from './operations/backups.ts'
export type { CopyOptions } from './operations/moves.ts'
export type { Divergence, ReplayLogOptions, ReplayResult } from './operations/replay.ts'
export type { OpenedWith } from './operations/with-store.ts'
export type { ConsentReport } from './pages/consent-page.ts'
export type { Language, PageOptions, ProcessingKind } from './pages/labels.ts'
export type { ProcessingOperation, ProcessingReport } from './pages/processing-page.ts'
export type { SubjectReport } from './pages/subject-report.ts'
export { checkPageProof, type PageCheck, type PageProof } from './proof/check-page.ts'
export { checkErasureReceipt } from './proof/erasure.ts'
export type { Level, Verdict } from './proof/verdict.ts'
export { type Clock, systemClock } from './runtime/clock.ts'
export type { Entropy } from './runtime/entropy.ts'
export type { AsyncList } from './runtime/lazy-list.ts'
export type { Diagnosis } from './store/checks/diagnose.ts'
export type { Grantees } from './store/database/grants.ts'
export type {
  PostgresAnswer,
  PostgresClient,
  PostgresPool,
  PostgresQuery,
  PostgresTypes,
} from './store/database/postgres-pool.ts'
export type { BackupResult } from './store/files/backup.ts'
export type { ExportResult } from './store/files/export-log.ts'
export type { RestoreResult } from './store/files/restore.ts'
export type { HostTransaction } from './store/ledger/done-items.ts'
export type { Anchor, HighWaterMark } from './store/store-options.ts'
export type { RebuildAll, RebuildResult } from './store/views/rebuilder.ts'
export type { ViewsHandle } from './store/views/views-handle.ts'
export type { KeyringStore, KeyringText } from './vault/keyring-store.ts'
export { environmentKeys, type Keys } from './vault/keys.ts'
export type { Views } from './views/views.ts'
export { AverbaError, type ErrorCode, httpStatuses } from './vocabulary/errors.ts'
export type { Fetch } from './vocabulary/fetch.ts'
export { type LogLine, onlyAllowed } from './vocabulary/log-line.ts'
export type {
  Actor,
  Basis,
  EffectState,
  Instant,
  Json,
  PendingEffect,
  Problem,
  Waiting,
} from './vocabulary/message.ts'
export { type CommandOptions, type Outcome, OutcomeError, type RecordOptions, valueOf } from './vocabulary/outcome.ts'
export type { PartKind, RecordKind } from './vocabulary/part-kinds.ts'
export { isCnpj, isCpf, parseCnpj, parseCpf } from './vocabulary/tax-numbers.ts'

/**
 * Loads a function at its first call, so that importing the package takes little time. It refuses options of other
 * names. What Deno does not permit is an error with a code.
 */
function lazily<A extends readonly unknown[], T>(
  load: () => Promise<(...args: A) => Promise<T> | T>,
  names?: OptionNames<A[0]>,
): (...args: A) => Promise<T> {
  return async (...args) => {
    if (names) checkKnownNames(Object(args[0]), Object.keys(names), { noun: 'option' })
    try {
      const call = await load()
      return await explainMissing(call, call.name)(...args)
    } catch (error) {
      throw asDenied(error)
    }
  }
}

/**
 * Opens a log, or creates one. Starts no timer and no listener.
 *
 * @throws {AverbaError} `MISCONFIGURED`, `STORE_UNSAFE`, `STORE_BUSY`, `NOT_OURS`, `CORRUPT`, `KEYS_MISSING`,
 * `KEYS_MISMATCH`
 */
export async function openAverba(options: AverbaOptions): Promise<Averba> {
  requireNode()
  return lazily(async () => (await import('./averba/averba.ts')).openAverba)(options)
}

/**
 * Exports a log, which may be in use, to a new folder that anyone can verify, up to a checkpoint that it signs now.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the folder is not empty, and as `openAverba`
 */
export const exportBundle = lazily(async () => (await import('./operations/audit.ts')).exportBundle, {
  ...openedNames,
  ...{ dir: true, onProgress: true },
})

/**
 * Proves that an event is in a log, which may be in use: a C2SP tlog-proof file, up to a checkpoint that it signs now.
 *
 * @throws {AverbaError} `NOT_FOUND`, and as `openAverba`
 */
export const proveRecorded = lazily(async () => (await import('./operations/audit.ts')).proveRecorded, {
  ...openedNames,
  event: true,
})

/**
 * Verifies a store, which may be in use, or an exported bundle, without writing to it: every signature, the root from
 * the bytes of the headers, every part or the event that explains its absence, and every decision. For a store it also
 * verifies that tables and views agree with the log.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, and `KEYS_MISMATCH`
 * when the given root key does not open the keyring
 */
export const verifyLog = lazily(async () => (await import('./operations/audit.ts')).verifyLog, verifyNames)

/**
 * Copies a store, which may be in use, into one file and checks it. The keyring is not in it: back it up separately.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export const backupStore = lazily(async () => (await import('./operations/backups.ts')).backupStore, {
  ...{ store: true, to: true, onProgress: true },
})

/**
 * Restores a store from a backup, and checks it before it gets its name. Nothing is overwritten. Calls that were
 * pending in the backup may have been made since: the restored log would make them again.
 *
 * `acceptRollback` lets the log continue under a new name, linked to the old one by an event, even if later events are
 * lost. Every call that was pending in the backup, except readings, becomes `unknown` instead of being made again.
 * `lostEvents` is the minimum number of lost events: those between the backup and the high-water mark beside the store.
 * It is absent when the mark shows no loss.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `KEYS_MISSING`, `KEYS_MISMATCH`, `ROLLED_BACK`,
 * `STORE_UNSAFE`, `CORRUPT`
 */
export const restoreStore = lazily(async () => (await import('./operations/backups.ts')).restoreStore, {
  ...openedNames,
  ...{ backup: true, keys: true, acceptRollback: true, onProgress: true },
})

/**
 * Lets a log continue where it was put back to an earlier state, such as by the backups of its server. It is checked
 * first; then as after `restoreStore` with `acceptRollback`. Stop every process on it before.
 *
 * @throws {AverbaError} `NOT_FOUND`, `KEYS_MISSING`, `KEYS_MISMATCH`, `CORRUPT`; `STORE_BUSY` while an engine works
 * with it; and as `openAverba`
 */
export const resumeStore = lazily(async () => (await import('./operations/backups.ts')).resumeStore, {
  ...openedNames,
  onProgress: true,
})

/**
 * Moves a log, such as from a file to a server: copies all of it with its keyring, proves that both have the same root,
 * and verifies the copy. Close every engine on it first. The log then ends at its former place with `log.moved`, and
 * nothing is recorded there any more; at the new one it goes on with `log.arrived`. A move that was interrupted goes on
 * when it is asked for again.
 *
 * @throws {AverbaError} `NOT_FOUND`; `STORE_BUSY` while an engine works with it; `INVALID_INPUT` when there is a log at
 * the new place; `KEYS_MISSING`, `KEYS_MISMATCH`, `CORRUPT`, and as `openAverba`
 */
export const copyStore = lazily(async () => (await import('./operations/moves.ts')).copyStore, {
  ...{ from: true, to: true, onProgress: true },
})

/**
 * Repeats every recorded decision of a log, which may be in use, and reports the first one that differs.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `INVALID_INPUT`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export const replayLog = lazily(async () => (await import('./operations/replay.ts')).replayLog, {
  ...placeNames,
  ...{ until: true, against: true, onProgress: true },
})

/**
 * Moves a log to another root key: that of `newRootKey`, or without it one that its keyring file then holds. Nothing is
 * sealed, signed or tagged anew, and the former keyring is overwritten. Close every engine on the log first: it cannot
 * read the keyring any more until it is opened with the new root key. Copies of the former keyring still open with the
 * former root key: destroy both.
 *
 * @throws {AverbaError} `NOT_FOUND`, `KEYS_MISMATCH` when the new holder does not open what it wrapped, and as
 * `openAverba`
 */
export const changeRootKey = lazily(async () => (await import('./operations/upkeep.ts')).changeRootKey, {
  ...openedNames,
  newRootKey: true,
})

/**
 * Diagnoses a store, which may be in use, without writing to it: its size and growth, pending calls and faults.
 * `isDeep` compares everything in it with everything else, with `rootKey` when the keyring lacks it. A
 * backup has its keyring elsewhere: name it with `keyring`.
 *
 * @throws {AverbaError} `NOT_FOUND`, `NOT_OURS`, `STORE_BUSY`, `STORE_UNSAFE`, `CORRUPT`
 */
export const diagnoseStore = lazily(async () => (await import('./operations/upkeep.ts')).diagnoseStore, {
  ...placeNames,
  ...{ rootKey: true, highWaterMark: true, isDeep: true, isOpening: true, onProgress: true, signal: true },
})

/**
 * Rebuilds views of a store, which may be in use, and reports how their rows differed.
 *
 * @throws {AverbaError} `NOT_FOUND`, `STORE_BUSY` when another process rebuilds the same view, and as `openAverba`
 */
export const rebuildStore = lazily(async () => (await import('./operations/upkeep.ts')).rebuildStore, {
  ...openedNames,
  ...{ views: true, onProgress: true, signal: true, compare: true },
})

/**
 * Checks everything that a configuration needs, without opening or writing the log: options, secrets and certificates,
 * store and keyring, connections and clock. A service only receives a `GET /`; with `token`, the gateway is asked for
 * one token. `isDeep` compares everything in the store. Never throws: a failed check says what to do.
 */
export const examine = lazily(async () => (await import('./api/health/examine.ts')).examine)

/**
 * Serves receivers over HTTPS, with limits on the size and time of requests. Each receiver limits its bodies.
 * @throws {AverbaError} `MISCONFIGURED` when a path or a certificate cannot be used, or the port cannot be opened
 */
export const serveReceivers = lazily(
  async () => (await import('./adapters/receiver/serve-receivers.ts')).serveReceivers,
  {
    ...{ receivers: true, certificate: true, certificates: true, host: true, port: true, headerBytesMax: true },
    ...{ handshakeTimeoutMs: true, headersTimeoutMs: true, requestTimeoutMs: true, connectionsMax: true },
    ...{ onTrouble: true, clock: true },
  },
)

/**
 * Returns the charts of the named machines, or of all: each as an xstate configuration in JSON, which Stately's editor
 * imports within `createMachine(…)`, or as a Mermaid state diagram.
 *
 * @throws {AverbaError} `INVALID_INPUT` when a machine or the format is unknown
 */
export const drawCharts = lazily(async () => (await import('./machines/charts.ts')).drawCharts)

/** Writes a commented configuration with every option: the file of `averba init`. `translate` gets each comment. */
export const configTemplate = lazily(async () => (await import('./api/config-template.ts')).configTemplate)

/**
 * The statements that give roles the least rights with which a log on PostgreSQL works: its processes add events and
 * can neither change nor remove one. The owner of the tables runs them, as a superuser or a member of both roles; the
 * process makes the tables of the views, and owns these.
 *
 * @throws {AverbaError} `INVALID_INPUT` for a role without a name, `MISCONFIGURED` for a schema that is not allowed
 */
export const grantsFor = lazily(async () => (await import('./store/database/grants.ts')).grantsFor)

/**
 * The statements that migrate the tables of a store from a version to the current one in one transaction, as opening it
 * does; none when they are current. On PostgreSQL they are for the given schema, which is created.
 *
 * @throws {AverbaError} `INVALID_INPUT`, `MISCONFIGURED` for a schema that is not allowed
 */
export const migrationsFrom = lazily(async () => (await import('./store/database/migrations.ts')).migrationsFrom)

/**
 * Types the options of an `averba.config.ts`, so that an editor completes them. The host gives the same object to
 * `openAverba`, and the command line reads it. Nothing is checked or opened here.
 *
 * @example
 * ```ts
 * import { defineConfig } from 'averba'
 *
 * export default defineConfig({ store: 'averba.sqlite' })
 * ```
 */
export function defineConfig(options: AverbaOptions): AverbaOptions {
  return options
}

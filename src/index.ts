/** averba: consents, identity validations and customs webhooks of Brazilian services, in an append-only log. */

/** The contracts' tables, with the contracts' own field names. */
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
export {
  type ReceiverServer,
  type ServeReceiversOptions,
  serveReceivers,
} from './adapters/receiver/serve-receivers.ts'
export type { TokenResponse } from './adapters/token/wire.ts'
export type { FieldResult } from './adapters/validation/protocol.ts'
export type { Claims, ValidationResponse } from './adapters/validation/wire.ts'
export type { Audit, DiscloseOptions } from './api/audit/module.ts'
export { configTemplate } from './api/config-template.ts'
export type { Awareness, AwarenessArea, AwarenessDetail } from './api/consents/awareness.ts'
export type { DecisionEvidence } from './api/consents/changes.ts'
export type { Standing } from './api/consents/consent-events.ts'
export type { Consent, ConsentDetail, Consents, OwnedConsent } from './api/consents/consents.ts'
export type { Enrolments } from './api/consents/enrolments.ts'
export type { LoginState, Logins } from './api/consents/logins.ts'
export type { FreshnessOptions, SyncResult, SyncSelector } from './api/consents/readings.ts'
export { ConsentNotEffectiveError, type Standings } from './api/consents/standings.ts'
export type { Events, Recorded } from './api/events.ts'
export { type Examination, examine } from './api/health/examine.ts'
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
export type { Validation } from './api/validations/validation.ts'
export type { ValidationCommandOptions, ValidationInput, Validations } from './api/validations/validations.ts'
export {
  type Averba,
  type AverbaOptions,
  defineConfig,
  type ListenerPayload,
  openAverba,
  type RunOptions,
} from './averba/averba.ts'
export type { IndexRebuildResult } from './averba/rebuild-index.ts'
export type { AttemptReport, EngineEvents } from './engine/diagnostics.ts'
export type { HandlerCall, HandlerError, HandlerTime } from './engine/following/handler-call.ts'
export { drawCharts } from './machines/charts.ts'
export type { ConsentStatus } from './machines/consent/status.ts'
export type { HandlerState } from './machines/notification.ts'
export { exportBundle, proveRecorded, type VerifyLogOptions, verifyLog } from './operations/audit.ts'
export { backupStore, type ResumeResult, restoreStore, resumeStore } from './operations/backups.ts'
export { type CopyOptions, copyStore } from './operations/moves.ts'
export { type Divergence, type ReplayLogOptions, type ReplayResult, replayLog } from './operations/replay.ts'
export { changeRootKey, diagnoseStore, rebuildStore } from './operations/upkeep.ts'
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
export { type Grantees, grantsFor } from './store/database/grants.ts'
export { migrationsFrom } from './store/database/migrations.ts'
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
export type { Follower } from './store/ledger/follower-table.ts'
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
export { type CommandOptions, type Outcome, OutcomeError, valueOf } from './vocabulary/outcome.ts'
export type { PartKind, RecordKind } from './vocabulary/part-kinds.ts'
export { isCnpj, isCpf, parseCnpj, parseCpf } from './vocabulary/tax-numbers.ts'

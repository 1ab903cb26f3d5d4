/**
 * averba: consents, identity validations and customs webhooks of Brazilian government services, kept in an
 * append-only log.
 */
export type { Certificate } from './adapters/certificate.ts'
export type { PortalAuthentication } from './adapters/portal/authentication.ts'
export { type PortalLogin, portalAccessKeys, portalSession } from './adapters/portal/login.ts'
export { staticHeaders } from './adapters/portal/static-headers.ts'
export type { Receiver } from './adapters/receiver.ts'
export { Secret, type SecretSource } from './adapters/secret.ts'
export {
  type ReceiverServer,
  type ServeReceiversOptions,
  serveReceivers,
} from './adapters/serve-receivers.ts'
export type { Source } from './adapters/source.ts'
export type { Fetch } from './adapters/transport.ts'
export type { FieldResult } from './adapters/validation/protocol.ts'
export type { Audit } from './audit.ts'
export { type Averba, openAverba, type Told } from './averba.ts'
export type { Awareness, AwarenessArea, AwarenessDetail } from './awareness.ts'
export { type Clock, type Entropy, systemClock } from './clock.ts'
export { isCnpj, parseCnpj } from './cnpj.ts'
export type { ConsentQuestion } from './consent-proof.ts'
export type { Fresh, Synced } from './consent-readings.ts'
export type { Consent, ConsentDetail, Consents, OwnedConsent } from './consents.ts'
export { isCpf, parseCpf } from './cpf.ts'
export type { DataSubjects } from './data-subjects.ts'
export type { DiscloseOptions } from './disclosures.ts'
export type { Due } from './due.ts'
export type { Effects } from './effects.ts'
export type { Enrolments } from './enrolments.ts'
export type { ErasureReceipt } from './erasure-receipt.ts'
export type { EraseOptions, Erasures } from './erasures.ts'
export { AverbaError, type ErrorCode } from './errors.ts'
export type { Events, Recorded } from './events.ts'
export { type Examination, examine } from './examine.ts'
export type { Failure, Failures, Harvested } from './failures.ts'
export type { Figures, OwedFigure } from './figures.ts'
export type { HandlerCall, HandlerTime } from './handler-time.ts'
export type { Check, Health, HealthOptions } from './health.ts'
export type { Attempted, Hints } from './hints.ts'
export type { IndexRebuilt } from './keyed-index.ts'
export type { Listed } from './listed.ts'
export type { Log } from './log.ts'
export { type LogLine, onlyAllowed } from './log-line.ts'
export type { LoginState, Logins } from './logins.ts'
export type { ConsentStatus } from './machines/consent-status.ts'
export type { Handling } from './machines/notification.ts'
export type { Actor, Basis, EffectState, Instant, Json, Owed, Problem } from './message.ts'
export type { Notification } from './notification.ts'
export type { HandlerOptions, Notifications } from './notifications.ts'
export {
  backupStore,
  diagnoseStore,
  exportBundle,
  migrationsFrom,
  proveRecorded,
  type ReplayLogOptions,
  rebuildStore,
  replayLog,
  type VerifyLogOptions,
  verifyLog,
} from './operating.ts'
export {
  type AverbaOptions,
  type DesiredSubscription,
  defineConfig,
  type RetentionRule,
  type RunOptions,
  type TracingOptions,
} from './options.ts'
export { type Ask, type Outcome, OutcomeError, valueOf } from './outcome.ts'
export type { ConsentReport } from './pages/consent-report.ts'
export type { Language, Page } from './pages/language.ts'
export type { ProcessingKind, ProcessingOperation, ProcessingReport } from './pages/processing-report.ts'
export type { SubjectReport } from './pages/subject-report.ts'
export type { PartKind, RecordKind } from './part-kinds.ts'
export type { Change, Plan } from './plan.ts'
export type { Period } from './processing.ts'
export { checkPageProof, type PageCheck, type PageProof } from './proof/check-page.ts'
export { checkErasureReceipt } from './proof/erasure.ts'
export type { Level, Verdict } from './proof/verdict.ts'
export type { Divergence, Replayed } from './replay.ts'
export { restoreStore } from './restore-store.ts'
export type { Revealed, Reveals } from './reveals.ts'
export { ConsentNotEffectiveError, type Standing, type Standings } from './standings.ts'
export type { BackupMade } from './store/backup.ts'
export type { Anchor } from './store/checkpointer.ts'
export type { Diagnosis } from './store/diagnose.ts'
export type { Exported } from './store/export-log.ts'
export type { Follower } from './store/follower.ts'
export type { HighWaterMark } from './store/high-water-mark.ts'
export type { RebuildAll } from './store/rebuild-all.ts'
export type { Rebuilt } from './store/rebuilder.ts'
export type { Restored } from './store/restore.ts'
export type { ViewsHandle } from './store/views-handle.ts'
export type { SubjectRef, Which, Who } from './subjects.ts'
export type { Subscription } from './subscription-shown.ts'
export type { Applied, ApplyOptions, Subscriptions } from './subscriptions.ts'
export type { Validation } from './validation.ts'
export type { ValidationAsk, ValidationInput, Validations } from './validations.ts'
export { environmentKeys, type Keys } from './vault/keys.ts'
export type { Views } from './views/views.ts'
export type { Why } from './why.ts'
export type * from './wire.ts'
export type { OpenedWith } from './with-store.ts'

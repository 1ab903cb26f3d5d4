import { exportUpTo } from '../../operations/export.ts'
import { type VerifyLogOptions, verifyLog } from '../../operations/verify.ts'
import { writeConsentPage } from '../../pages/consent-page.ts'
import type { Language, PageOptions } from '../../pages/language.ts'
import { writeProcessingPage } from '../../pages/processing-page.ts'
import type { ProcessingOperation } from '../../pages/processing-report.ts'
import type { Checkpoint } from '../../proof/checkpoint.ts'
import type { Verdict } from '../../proof/verdict.ts'
import { discloseEvent, findDisclosable } from '../../store/checkpoints/disclose.ts'
import { type EventSelector, proveConsistency, proveEvent } from '../../store/checkpoints/prove.ts'
import type { ExportResult } from '../../store/files/export-log.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Actor } from '../../vocabulary/message.ts'
import type { ApiContext } from '../api-context.ts'
import { checkPage } from '../arguments.ts'
import { type ConsentQuestion, proveConsent } from '../reports/consent-proof.ts'
import { gatherProcessingReport, type Period, readProcessing } from '../reports/processing.ts'
import { checkAsking, recordReveal } from '../subjects/reveals.ts'

/** Shows others what the log holds, so that they need to believe nobody. */
export interface Audit {
  /** Signs where the log stands, as a C2SP note: whoever keeps it can hold the log to it later. */
  checkpoint(): Promise<string>
  /**
   * The proof that an event is in the log, up to a checkpoint that is signed for it now: one C2SP tlog-proof.
   *
   * @throws {AverbaError} `NOT_FOUND`
   */
  prove(event: EventSelector): Promise<string>
  /**
   * Says whether a consent stood at an instant, by what was known at another, in one file with its proof: the exact
   * bytes of every event that the answer rests on, their paths to the root of a signed checkpoint, and the checkpoint.
   * JSON in the form of `ConsentReport`, or an HTML page that checks itself offline. Opens no personal data.
   *
   * @throws {AverbaError} `NOT_FOUND` when nobody is enrolled, or nobody has seen the consent; `INVALID_CPF`,
   * `INVALID_INPUT`
   */
  prove(question: ConsentQuestion, page?: PageOptions): Promise<string>
  /**
   * Discloses one event, and nothing else of its owners: its proof, its sealed parts, and the keys of its record that
   * open them, in one file that `averba verify` and `verifyDisclosure` of `averba/verify` read offline. Who gives it
   * away and what for is an event before. Only what was recorded under the option `recordKeys` has such keys.
   *
   * @throws {AverbaError} `NOT_FOUND`, also for what was destroyed; `INVALID_INPUT` without an actor, a purpose or keys
   * of the record; `PERSONAL_ID`
   */
  disclose(event: EventSelector, options: DiscloseOptions): Promise<string>
  /**
   * The operations with personal data of a period (LGPD article 37): purpose, legal basis, categories of data and of
   * data subjects, where it came from and whom it went to. Page by page, in order; opens nothing.
   *
   * @param options `from` is included, `until` is not
   * @throws {AverbaError} `INVALID_INPUT`
   */
  processing(options: Period & { language?: Language }): AsyncIterable<ProcessingOperation>
  /**
   * The same as one text, with what is true of all of them: JSON in the form of `ProcessingReport`, or one HTML page
   * that sums them up.
   *
   * @throws {AverbaError} `INVALID_INPUT`, also of more than 250,000 operations
   */
  processingReport(period: Period, page?: PageOptions): Promise<string>
  /**
   * What a witness asks for: the newest checkpoint, and the hashes that prove that an older one is its beginning.
   *
   * @throws {AverbaError} `INVALID_INPUT` when that one is not of this log
   */
  consistency(from: string): Promise<{ before: Checkpoint; checkpoint: string; hashes: readonly string[] }>
  /** Verifies the whole log from its file, as `averba verify` does. A log in memory cannot be. */
  verify(options?: Omit<VerifyLogOptions, 'store'>): Promise<Verdict>
  /** Writes the log to a new folder that anyone can verify. A log in memory cannot be. */
  export(dir: string): Promise<ExportResult>
}

/** Makes the area. */
export function createAudit(context: ApiContext): Audit {
  const { store, engine } = context
  const path = context.options.store
  const onFile = () => {
    if (path !== ':memory:') return path
    throw new AverbaError('INVALID_INPUT', 'Cannot do this with a log in memory: it has no file')
  }
  async function prove(what: EventSelector | ConsentQuestion, page?: PageOptions): Promise<string> {
    if (typeof what === 'object') {
      const { format, language } = checkPage(page)
      const report = await proveConsent(context, what, language)
      return format === 'html' ? writeConsentPage(report) : `${JSON.stringify(report, null, 2)}\n`
    }
    await store.checkpoint()
    return store.reader.read(() => proveEvent(what))
  }
  return {
    prove: (what, page?: PageOptions) => engine.admit(() => prove(what, page)),
    disclose: (event, options) => engine.admit(() => disclose(context, event, options)),
    checkpoint: async () => (await store.checkpoint()).note,
    async consistency(from) {
      await store.checkpoint()
      return store.reader.read(() => proveConsistency(from))
    },
    verify: async options => {
      const { keys: rootKey } = context.options
      return verifyLog({ ...(rootKey && { rootKey }), ...options, store: onFile() })
    },
    export: async dir => exportUpTo({ store: onFile(), dir }, () => store.checkpoint({ withAnchor: true })),
    processing: ({ language, ...period }) =>
      readProcessing(context, period, checkPage(language === undefined ? {} : { language }).language),
    processingReport: (period, page) =>
      engine.admit(async () => {
        const { format, language } = checkPage(page)
        const report = await gatherProcessingReport(context, period, language)
        return format === 'html' ? writeProcessingPage(report) : `${JSON.stringify(report, null, 2)}\n`
      }),
  }
}

/** Who gives a record away, and what for: both are kept in clear. */
export interface DiscloseOptions {
  readonly actor: Actor
  readonly purpose: string
}

/** Records that what an event holds is given away, and then writes it with its proof and the keys of its record. */
async function disclose(context: ApiContext, which: EventSelector, asking: DiscloseOptions): Promise<string> {
  checkAsking(asking)
  const { store } = context
  const { parts, owners } = await store.reader.read(() => findDisclosable(which))
  const { actor, purpose } = asking
  await recordReveal(context, 'audit.disclose', { parts, owners, purpose, isDisclosed: true }, actor)
  await store.checkpoint()
  const { keyring } = store.vault
  return keyring.withRefresh(() => store.reader.read(() => discloseEvent(store.vault, which)))
}

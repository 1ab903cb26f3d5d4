import { exportUpTo, type VerifyLogOptions, verifyLog } from '../../operations/audit.ts'
import { verifyNames } from '../../operations/option-names.ts'
import { writeConsentPage } from '../../pages/consent-page.ts'
import type { Language, PageOptions } from '../../pages/labels.ts'
import { type ProcessingOperation, writeProcessingPage } from '../../pages/processing-page.ts'
import type { Checkpoint } from '../../proof/note.ts'
import type { Verdict } from '../../proof/verdict.ts'
import {
  discloseEvent,
  type EventSelector,
  findDisclosable,
  proveConsistency,
  proveEvent,
} from '../../store/checkpoints/prove.ts'
import type { ExportResult } from '../../store/files/export-log.ts'
import { AverbaError } from '../../vocabulary/errors.ts'
import type { Actor } from '../../vocabulary/message.ts'
import { checkKnownNames } from '../../vocabulary/names.ts'
import type { ApiContext } from '../api-context.ts'
import { checkPageOptions } from '../arguments.ts'
import type { Module } from '../module.ts'
import { type ConsentQuestion, proveConsent } from '../reports/consent-proof.ts'
import { gatherProcessingReport, type Period, readProcessing } from '../reports/processing.ts'
import { writeReport } from '../reports/subject-report.ts'
import { checkRevealRequest, recordReveal } from '../subjects/reveals.ts'

/** Proofs and reports about the log, which others can check without trusting its owner. */
export interface Audit {
  /** Signs the current state of the log, as a C2SP note: it proves later that the log still contains that state. */
  checkpoint(): Promise<string>
  /**
   * Proves that an event is in the log, as one C2SP tlog-proof with a checkpoint signed now.
   *
   * @throws {AverbaError} `NOT_FOUND`
   */
  prove(event: EventSelector): Promise<string>
  /**
   * Reports whether a consent was effective at an instant, by what was known at another, with the proof: the exact
   * bytes of every event behind the answer, their paths to the root of a signed checkpoint, and that checkpoint. JSON
   * in the form of `ConsentReport`, or an HTML page that checks itself offline. Opens no personal data.
   *
   * @throws {AverbaError} `NOT_FOUND` when the subject is not enrolled, or no reading has shown the consent;
   * `INVALID_CPF`, `INVALID_INPUT`
   */
  prove(question: ConsentQuestion, page?: PageOptions): Promise<string>
  /**
   * Discloses one event, and nothing else about its owners: its proof, its sealed parts and the record keys that open
   * them, in one file for `averba verify` and `verifyDisclosure` of `averba/verify`. An event with actor and purpose is
   * recorded first. Only events recorded under the option `recordKeys` have such keys.
   *
   * @throws {AverbaError} `NOT_FOUND`, also for destroyed data; `INVALID_INPUT` without an actor, a purpose or record
   * keys; `PERSONAL_ID`
   */
  disclose(event: EventSelector, options: DiscloseOptions): Promise<string>
  /**
   * Reads the operations with personal data of a period (LGPD article 37), in order and page by page: purpose, legal
   * basis, categories of data and of data subjects, source and recipients. Opens no sealed data.
   *
   * @param options `from` is included, `until` is not
   * @throws {AverbaError} `INVALID_INPUT`
   */
  processing(options: Period & { language?: Language }): AsyncIterable<ProcessingOperation>
  /**
   * The same as one text: JSON in the form of `ProcessingReport`, or an HTML page that summarises it.
   *
   * @throws {AverbaError} `INVALID_INPUT`, also for more than 250,000 operations
   */
  processingReport(period: Period, page?: PageOptions): Promise<string>
  /**
   * What a witness needs: the newest checkpoint, and the hashes that prove that it extends an older one.
   *
   * @throws {AverbaError} `INVALID_INPUT` when the older one is not of this log
   */
  consistency(from: string): Promise<{ before: Checkpoint; checkpoint: string; hashes: readonly string[] }>
  /** Verifies the whole log as it is kept, as `averba verify` does. Not for a log in memory. */
  verify(options?: Omit<VerifyLogOptions, 'store' | 'pool' | 'keyring'>): Promise<Verdict>
  /** Writes the log to a new folder that anyone can verify. Not for a log in memory. */
  export(dir: string): Promise<ExportResult>
}

export function createAuditModule(context: ApiContext): Module<{ audit: Audit }> {
  const { store, engine } = context
  const { store: kept, pool, keyring } = context.options
  const place = () => {
    if (kept !== ':memory:') return { store: kept, ...(pool && { pool }), ...(keyring && { keyring }) }
    throw new AverbaError('INVALID_INPUT', 'Cannot do this with a log in memory: it has no file')
  }
  async function prove(what: EventSelector | ConsentQuestion, page?: PageOptions): Promise<string> {
    if (typeof what === 'object') {
      checkKnownNames(what, ['consent', 'at', 'knownAt'], { noun: 'member', of: 'the question' })
      return writeReport(page, language => proveConsent(context, what, language), writeConsentPage)
    }
    await store.checkpoint()
    return store.database.read(() => proveEvent(store.headers, what))
  }
  const audit: Audit = {
    prove: (what, page?: PageOptions) => engine.admit(() => prove(what, page)),
    disclose: (event, options) => engine.admit(() => disclose(context, event, options)),
    checkpoint: async () => (await store.checkpoint()).note,
    async consistency(from) {
      await store.checkpoint()
      return store.database.read(() => proveConsistency(from))
    },
    verify: async (options = {}) => {
      const { store: _, pool: __, keyring: ___, ...names } = verifyNames
      checkKnownNames(options, Object.keys(names), { noun: 'option' })
      const { keys: rootKey } = context.options
      return verifyLog({ ...(rootKey && { rootKey }), ...options, ...place() })
    },
    export: async dir => exportUpTo({ ...place(), dir }, () => store.checkpoint({ withAnchor: true })),
    processing: ({ language, ...period }) =>
      readProcessing(context, period, checkPageOptions(language === undefined ? {} : { language }).language),
    processingReport: (period, page) =>
      engine.admit(() =>
        writeReport(page, (...how) => gatherProcessingReport(context, period, ...how), writeProcessingPage),
      ),
  }
  return { methods: { audit } }
}

/** Who discloses a record, and for what purpose. Both are stored in clear. */
export interface DiscloseOptions {
  readonly actor: Actor
  readonly purpose: string
}

/** Records the disclosure of an event, and then writes the event with its proof and the keys of its record. */
async function disclose(context: ApiContext, event: EventSelector, options: DiscloseOptions): Promise<string> {
  checkRevealRequest(options)
  const { store } = context
  const { parts, owners } = await store.database.read(() => findDisclosable(store.headers, event))
  const { actor, purpose } = options
  await recordReveal(context, 'audit.disclose', { parts, owners, purpose, isDisclosed: true }, actor)
  await store.checkpoint()
  const { keyring } = store.vault
  return keyring.withRefresh(() => store.database.read(() => discloseEvent(store.vault, store.headers, event)))
}

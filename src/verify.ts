/**
 * averba/verify: verifies an exported bundle or the proof of one event. It needs no database, no network and no module
 * of a runtime, and runs on Node, on Deno and in browsers.
 *
 * @packageDocumentation
 */
export {
  type DisclosureVerdict,
  type OpenedPart,
  verifyDisclosure,
} from './proof/disclosure.ts'
export type { CheckName, Fault } from './proof/faults.ts'
export {
  createVerifierKey,
  parseVerifierKey,
  type SignatureType,
  type VerifierKey,
  writeVerifierKey,
} from './proof/note.ts'
export {
  type ProofOptions,
  type ProofVerdict,
  parseTlogProof,
  type TlogProof,
  verifyTlogProof,
} from './proof/tlog-proof.ts'
export type { Level, Verdict } from './proof/verdict.ts'
export {
  type BundleFile,
  type ReadFile,
  type VerifyBundleOptions,
  verifyBundle,
} from './proof/verify-bundle.ts'

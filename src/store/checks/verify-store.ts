import { Faults } from '../../proof/faults.ts'
import { createVerifierKey, parseCheckpoint, parseVerifierKey, type VerifierKey } from '../../proof/note.ts'
import { type Evidence, type Verdict, verifyLog } from '../../proof/verdict.ts'
import type { Entropy } from '../../runtime/entropy.ts'
import { holdsRootKey, inspectKeyring, type Keyring, openKeyring } from '../../vault/keyring.ts'
import type { KeyringStore } from '../../vault/keyring-store.ts'
import type { Keys } from '../../vault/keys.ts'
import { hasCode } from '../../vocabulary/errors.ts'
import { readCheckpoints, readKeyLines } from '../checkpoints/checkpoints.ts'
import { readMark } from '../checkpoints/high-water-mark.ts'
import { rows, type Steps } from '../database/connection.ts'
import type { Reading } from '../database/reading.ts'
import { db } from '../database/schema.ts'
import { readFacts } from '../log/facts.ts'
import { untaggedHeaders } from '../log/header.ts'
import { Tags } from '../log/tags.ts'
import { findUnopenedKeys } from '../owners/keyring-faults.ts'
import { findSchemaFaults } from './check-schema.ts'
import { type CheckOptions, checkRows, runCheck } from './check-store.ts'

/** How to verify a store. */
export interface VerifyStoreOptions extends CheckOptions {
  readonly entropy: Entropy
  /** Verifier key lines that must have signed the log; else those of the keyring beside it, or the log's own. */
  readonly keys?: readonly string[]
  /** Who holds the root key of the log. Without it, a keyring that lacks its root key is ignored. */
  readonly rootKey?: Keys
  /** The keyring of the log, unless keys are given. A missing one is no fault. */
  readonly keyring?: KeyringStore
  /** A signed checkpoint that was kept outside of the log, or the path of its file. */
  readonly mark?: string
  /** Whether the mark comes from elsewhere, and was not read from beside the store. */
  readonly isMarkGiven: boolean
  readonly witnesses?: readonly string[]
}

/** Verifies a store: everything that the verifier of a bundle checks, and that rows, tiles and views agree with it. */
export async function verifyStore(reading: Reading, options: VerifyStoreOptions): Promise<Verdict> {
  const faults = new Faults()
  // With given keys the log is verified as by a third party.
  const keyring = options.keys ? undefined : await openOwnKeyring(reading, options, faults)
  const tags = keyring && new Tags(keyring)
  const evidence = (await runCheck(faults, () => gatherEvidence(reading, options, keyring, faults))) ?? noEvidence
  const verdict = await verifyLog(evidence, faults, async (verifier, { signed, held }) => {
    for (const fault of await reading.read(() => findSchemaFaults(reading.dialect)))
      faults.add('schema', `the log cannot be opened: ${fault}`)
    const { origin = '', root = '', ...checked } = await checkRows(reading, verifier, faults, { ...options, tags })
    await runCheck(faults, async () => {
      const [head, ...others] = await reading.read(readHead)
      if (!head || others.length > 0 || head.id !== 1 || head.schema < 1)
        faults.add('end', 'its head does not have exactly one row')
    })
    if (held > signed && held <= checked.events)
      faults.add('checkpoints', `the checkpoint over ${held} events is missing`)
    return { origin, root, ...checked }
  })
  return tags ? verdict : { ...verdict, unproven: [...verdict.unproven, untagged] }
}

const untagged = "That headers, index and owners' keys have the tags of the log: its keyring was not opened."

const noEvidence: Evidence = {
  ...{ checkpoints: [], keys: [], isKeyGiven: false, witnesses: [], mark: undefined, isMarkGiven: false },
  markName: 'the high-water mark',
  notHeldReason: 'There is no high-water mark: no evidence from outside the store shows how far the log had come.',
}

async function gatherEvidence(
  reading: Reading,
  options: VerifyStoreOptions,
  keyring: Keyring | undefined,
  faults: Faults,
): Promise<Evidence> {
  const { witnesses = [], mark, isMarkGiven } = options
  const own = await findVerifierKeys(reading, options, keyring, faults)
  const stored = await reading.read(readCheckpoints)
  for (const [i, { number, size, note }] of stored.entries()) {
    if (number !== i + 1) faults.add('checkpoints', `checkpoint ${i + 1} is missing`)
    if (parseCheckpoint(note)?.size !== size) faults.add('checkpoints', `checkpoint ${number} differs from its row`)
  }
  return {
    ...{ ...noEvidence, ...own, witnesses: parseVerifierKeys(witnesses) },
    checkpoints: stored.map(({ note, anchor }) => ({ note, anchor: anchor ?? undefined })),
    isMarkGiven,
    mark: mark === undefined || mark.includes('\n') ? mark : readMark(mark),
  }
}

/** The keys that must have signed the log. Keys read from the log itself prove only its consistency. */
async function findVerifierKeys(
  reading: Reading,
  options: VerifyStoreOptions,
  keyring: Keyring | undefined,
  faults: Faults,
): Promise<{ keys: VerifierKey[]; isKeyGiven: boolean }> {
  const own = await reading.read(() => readKeyLines(untaggedHeaders))
  if (options.keys) return { keys: parseVerifierKeys(options.keys), isKeyGiven: true }
  if (!keyring) return { keys: parseVerifierKeys(own.map(line => line.key)), isKeyGiven: false }
  for (const fault of await reading.read(() => findUnopenedKeys(keyring))) faults.add('keys', fault)
  const keys = own.map(({ origin }) => createVerifierKey(origin, keyring.signer.publicKey))
  return { keys, isKeyGiven: true }
}

async function openOwnKeyring(
  reading: Reading,
  { entropy, rootKey, keyring: place }: VerifyStoreOptions,
  faults: Faults,
): Promise<Keyring | undefined> {
  if (!place) return undefined
  try {
    if (!(await place.read())) return undefined
    const { keyring: id } = await reading.read(readFacts)
    if ((await inspectKeyring(place, entropy)).id !== id) {
      // With its keys, every tag would look forged.
      faults.add('keys', 'the keyring beside it belongs to another log: put its own there, or give a verifier key')
      return undefined
    }
    if (await holdsRootKey(place)) return await openKeyring(place, entropy)
  } catch (error) {
    // A file that may not be read says nothing about the log.
    if (hasCode(error, 'STORE_UNSAFE')) throw error
    faults.add('keys', error instanceof Error ? error.message : 'the keyring cannot be read')
    return undefined
  }
  // Without the right root key it may fail to open, which says nothing about the log.
  return rootKey && openKeyring(place, entropy, rootKey)
}

/** Lines in a damaged log may be malformed and are skipped; given lines were checked before. */
function parseVerifierKeys(lines: readonly string[]): VerifierKey[] {
  return lines.flatMap(line => parseVerifierKey(line.trim()) ?? [])
}

function readHead(): Steps<readonly { id: number; schema: number }[]> {
  return rows(db.selectFrom('head').select(['id', 'schema']))
}

import { existsSync, readFileSync, statSync } from 'node:fs'
import { AverbaError, type Verdict, verifyLog } from '../../index.ts'
import {
  type DisclosureVerdict,
  type ProofVerdict,
  parseTlogProof,
  parseVerifierKey,
  type VerifierKey,
  verifyDisclosure,
  verifyTlogProof,
} from '../../verify.ts'
import { type CommandEnd, defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { findLog, sourceOptions } from '../load-config.ts'
import { rejectOptions } from '../options.ts'
import { createProgress } from '../progress.ts'
import { nameLog } from '../usage-error.ts'

const proofBytesMax = 16 * 1024 * 1024

/** Exit codes by level: 0 for a level that something outside of the log confirms. */
const levelCodes: Readonly<Record<Verdict['level'], number>> = { broken: 2, 'self-consistent': 3, held: 0, anchored: 0 }

/** Adds a value to those before: an option of several values would take the evidence for one. */
function collect(value: string, before: readonly string[] = []): readonly string[] {
  return [...before, value]
}

export const verifyCommand = defineCommand({
  usage: 'verify [evidence]',
  description: 'Verify a log: signatures, tree, parts, decisions and views, and report the level that it reaches.',
  arguments: ['in place of a log: a folder of averba export, or a proof or disclosure of one event'],
  options: {
    '--key <line>': {
      text: 'the verifier key line that it has to be signed with, or a file with the line; may be repeated',
      read: collect,
    },
    '--mark <file>': 'a signed checkpoint that was kept elsewhere; by default <store>.mark',
    '--witness <line>': {
      text: 'the verifier key line of another who signs checkpoints, or a file with lines; may be repeated',
      read: collect,
    },
    ...sourceOptions,
  },
  example: 'averba verify --store averba.sqlite',
  notes:
    'Exit codes: 0 held (it continues a checkpoint from outside) or anchored; 1 it cannot be read; 2 broken; ' +
    '3 only self-consistent: nothing from outside confirms it.',
  async run(terminal, { key, mark, witness, ...source }, evidence) {
    const known = { ...(key && { keys: readKeyLines(key) }), ...(witness && { witnesses: readKeyLines(witness) }) }
    if (evidence !== undefined) {
      const { config, store, keys, rootKeyFrom } = source
      const ofLog = { '--config': config, '--store': store, '--keys': keys, '--root-key-from': rootKeyFrom }
      const keyHint = 'Give --key with the verifier key line of the log: a bundle is verified without its keyring'
      rejectOptions(ofLog, each => `Cannot use ${each} with a bundle or a proof: it is for a log`, keyHint)
      const proof = readProof(evidence)
      if (proof !== undefined) {
        const hint = 'To compare a log with a checkpoint that was kept, verify the store or an export of it'
        rejectOptions({ '--mark': mark }, each => `Cannot verify a proof with ${each}: it is for a whole log`, hint)
        return verifyProof(terminal.say, proof, parseKeyOptions(key), parseKeyOptions(witness))
      }
      if (!statSync(evidence, { throwIfNoEntry: false })?.isDirectory()) {
        throw new AverbaError('INVALID_INPUT', `Cannot verify "${evidence}": it is neither a bundle nor a proof`, {
          hint: nameLog('verify', evidence),
        })
      }
    }
    const log = evidence === undefined ? await findLog(source) : { store: evidence }
    const onProgress = createProgress(terminal)
    const result = await verifyLog({ ...log, ...known, onProgress, ...(mark !== undefined && { mark }) })
    return { result, lines: formatVerdict(terminal.say, result), code: levelCodes[result.level] }
  },
})

const receiptHint =
  'checkErasureReceipt checks a receipt, and checkPageProof the proof of a report on a consent, whose page also checks itself in a browser'

function readProof(path: string): string | undefined {
  if (!existsSync(path) || !statSync(path).isFile() || statSync(path).size > proofBytesMax) return undefined
  const text = readFileSync(path, 'utf8')
  if (/^<!doctype html>|^\{\s*"format": ?"averba (erasure|\w+ report) /.test(text)) {
    const message = `Cannot verify "${path}": it is a receipt or a report`
    throw new AverbaError('INVALID_INPUT', message, { hint: receiptHint })
  }
  return text.startsWith('c2sp.org/tlog-proof@v1\n') || text.startsWith('{') ? text : undefined
}

function parseKeyOptions(given: readonly string[] = []): VerifierKey[] {
  return readKeyLines(given).map(line => {
    const key = parseVerifierKey(line)
    if (key) return key
    const hint = 'Give the line, or a file with the line'
    const message = 'Cannot verify the proof: a given key is not a verifier key line'
    throw new AverbaError('INVALID_INPUT', message, { hint })
  })
}

async function verifyProof(
  say: Say,
  text: string,
  keys: readonly VerifierKey[],
  witnesses: readonly VerifierKey[],
): Promise<CommandEnd> {
  if (keys.length === 0) {
    const hint = 'Give --key with the file "key" of an exported bundle: it has a line for each name of the log'
    throw new AverbaError('INVALID_INPUT', 'Cannot verify the proof without the verifier key of the log', { hint })
  }
  const verdict = text.startsWith('{')
    ? await verifyDisclosure(text, keys, { witnesses })
    : { ...(await verifyTlogProof(text, keys, { witnesses })), header: parseTlogProof(text)?.header ?? '' }
  const code = verdict.isProven ? exitCodes.done : levelCodes.broken
  return { result: verdict, lines: formatProofVerdict(say, verdict), code }
}

function* formatProofVerdict(say: Say, verdict: ProofVerdict & Partial<DisclosureVerdict>): Iterable<string> {
  const { header = '', opened = [], closed = [] } = verdict
  if (!verdict.isProven) return yield say`NOT PROVEN: ${say.message(verdict.fault)}`
  yield say`Proven: this event is in the log, signed by ${verdict.signedBy.join(', ')}:`
  yield header
  for (const { name, owner, value } of opened)
    yield say`Its sealed part "${name}", of ${owner}: ${JSON.stringify(value)}`
  if (closed.length > 0) yield say`Not disclosed: ${closed.join(', ')}`
}

function readKeyLines(given: readonly string[]): string[] {
  return given.flatMap(each => {
    if (!statSync(each, { throwIfNoEntry: false })?.isFile()) return [each]
    const lines = readFileSync(each, 'utf8').split('\n')
    const found = lines.map(line => line.trim()).filter(line => line !== '')
    if (found.length > 0) return found
    throw new AverbaError('INVALID_INPUT', `Cannot use "${each}": the file has no verifier key line`)
  })
}

function* formatVerdict(say: Say, verdict: Verdict): Iterable<string> {
  const { level, next, faults, unproven, origin, events, parts, erasedParts, checkpoints, signed } = verdict
  yield say`log          ${origin}: ${events} events, root ${verdict.root}`
  yield say`parts        ${parts} present, ${erasedParts} erased`
  yield say`checkpoints  ${checkpoints}, the newest over ${signed} events; held up to ${verdict.held}, anchored up to ${verdict.anchored}`
  if (verdict.stamped)
    yield say`time stamp   over the checkpoint of ${verdict.stamped.size} events, at ${verdict.stamped.at}; its signature is not verified here`
  yield* formatFindings(say, say`ignored`, verdict.uncounted)
  yield say`level        ${level}`
  if (next !== '') yield `             ${say.message(next)}`
  yield* formatFindings(say, say`FAULT`, faults)
  yield say`This does not prove:`
  for (const each of unproven) yield `- ${say.message(each)}`
}

function* formatFindings(say: Say, what: string, found: Verdict['faults']): Iterable<string> {
  for (const { check, count, examples } of found) {
    yield `${what.padEnd(12)} ${check}: ${count}`
    for (const example of examples) yield `             ${say.message(example)}`
  }
}

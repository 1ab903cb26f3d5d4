import { existsSync, readFileSync, statSync } from 'node:fs'
import { Command } from 'commander'
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
import { printLine } from '../output.ts'
import { createProgress } from '../progress.ts'
import { parseRootKey, type RootKeyOption, rootKeyOption } from '../root-key.ts'

const proofBytesMax = 16 * 1024 * 1024

interface Options extends RootKeyOption {
  readonly key?: readonly string[]
  readonly mark?: string
  readonly witness?: readonly string[]
  readonly json?: boolean
}

/** Exit codes by level: 0 for a level that something outside of the log confirms. */
const exitCodes: Readonly<Record<Verdict['level'], number>> = {
  broken: 2,
  'self-consistent': 3,
  held: 0,
  anchored: 0,
}

/** The command `averba verify`. */
export function verifyCommand(): Command {
  return new Command('verify')
    .description('Verify a log: signatures, tree, parts, decisions and views, and report the level that it reaches.')
    .argument(
      '<store>',
      'the file of the log, which may be in use, a folder of averba export, or a proof or disclosure of one event',
    )
    .option('--key <line...>', 'the verifier key line that it has to be signed with, or a file with the line')
    .option('--mark <file>', 'a signed checkpoint that was kept elsewhere; by default <store>.mark')
    .option('--witness <line...>', 'verifier key lines of others who sign checkpoints, or files with them')
    .addOption(rootKeyOption())
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      '\nExit codes: 0 held (it continues a checkpoint from outside) or anchored; 1 it cannot be read; 2 broken;' +
        '\n3 only self-consistent: nothing from outside confirms it.',
    )
    .action(verify)
}

async function verify(store: string, options: Options): Promise<void> {
  const { key, mark, witness, json = false } = options
  const proof = readProof(store)
  if (proof !== undefined) {
    rejectLogOptions(options)
    return verifyProof(proof, { keys: parseKeyOptions(key), witnesses: parseKeyOptions(witness) }, json)
  }
  const verdict = await verifyLog({
    store,
    onProgress: createProgress(),
    ...(key && { keys: readKeyLines(key) }),
    ...parseRootKey(options),
    ...(mark !== undefined && { mark }),
    ...(witness && { witnesses: readKeyLines(witness) }),
  })
  process.exitCode = exitCodes[verdict.level]
  if (json) printLine(JSON.stringify(verdict))
  else for (const line of formatVerdict(verdict)) printLine(line)
}

/** Reads the file if it is a proof or a disclosure of one event. */
function readProof(path: string): string | undefined {
  if (!existsSync(path) || !statSync(path).isFile() || statSync(path).size > proofBytesMax) return undefined
  const text = readFileSync(path, 'utf8')
  return text.startsWith('c2sp.org/tlog-proof@v1\n') || text.startsWith('{') ? text : undefined
}

/** Rejects options that a proof does not use: the user would believe that they were checked. */
function rejectLogOptions({ mark, rootKeyFrom }: Options): void {
  const given = mark !== undefined ? '--mark' : rootKeyFrom !== undefined ? '--root-key-from' : undefined
  if (given === undefined) return
  const hint = 'To compare a log with a checkpoint that was kept, verify the store or an export of it'
  throw new AverbaError('INVALID_INPUT', `Cannot verify a proof with ${given}: it is for a whole log`, {
    hint,
  })
}

interface TrustedKeys {
  readonly keys: readonly VerifierKey[]
  readonly witnesses: readonly VerifierKey[]
}

function parseKeyOptions(given: readonly string[] | undefined): VerifierKey[] {
  return readKeyLines(given ?? []).map(line => {
    const key = parseVerifierKey(line)
    if (key) return key
    throw new AverbaError('INVALID_INPUT', 'Cannot verify the proof: a given key is not a verifier key line', {
      hint: 'Give the line, or a file with the line',
    })
  })
}

async function verifyProof(text: string, { keys, witnesses }: TrustedKeys, json: boolean): Promise<void> {
  if (keys.length === 0) {
    throw new AverbaError('INVALID_INPUT', 'Cannot verify the proof without the verifier key of the log', {
      hint: 'Give --key with the file "key" of an exported bundle: it has a line for each name of the log',
    })
  }
  const { header, opened, closed, ...verdict } = text.startsWith('{')
    ? await verifyDisclosure(text, keys, { witnesses })
    : await verifyTlogProofText(text, { keys, witnesses })
  if (!verdict.isProven) process.exitCode = exitCodes.broken
  if (json) return printLine(JSON.stringify({ ...verdict, header, ...(opened && { opened, closed }) }))
  if (!verdict.isProven) return printLine(`NOT PROVEN: ${verdict.fault}`)
  printLine(`Proven: this event is in the log, signed by ${verdict.signedBy.join(', ')}:`)
  printLine(header ?? '')
  for (const { name, owner, value } of opened ?? [])
    printLine(`Its sealed part "${name}", of ${owner}: ${JSON.stringify(value)}`)
  if (closed && closed.length > 0) printLine(`Not disclosed: ${closed.join(', ')}`)
}

async function verifyTlogProofText(
  text: string,
  { keys, witnesses }: TrustedKeys,
): Promise<ProofVerdict & Partial<DisclosureVerdict>> {
  const verdict = await verifyTlogProof(text, keys, { witnesses })
  return { header: parseTlogProof(text)?.header ?? '', ...verdict }
}

/** Reads key lines that are given as text or as files. */
function readKeyLines(given: readonly string[]): string[] {
  return given.flatMap(each => {
    if (!statSync(each, { throwIfNoEntry: false })?.isFile()) return [each]
    const lines = readFileSync(each, 'utf8').split('\n')
    const found = lines.map(line => line.trim()).filter(line => line !== '')
    if (found.length > 0) return found
    throw new AverbaError('INVALID_INPUT', `Cannot use "${each}": the file has no verifier key line`)
  })
}

function* formatVerdict(verdict: Verdict): Iterable<string> {
  const { level, next, faults, unproven, origin, events, parts, erasedParts, checkpoints, signed } = verdict
  yield `log          ${origin}: ${events} events, root ${verdict.root}`
  yield `parts        ${parts} present, ${erasedParts} erased`
  yield `checkpoints  ${checkpoints}, the newest over ${signed} events; held up to ${verdict.held}, anchored up to ${verdict.anchored}`
  if (verdict.stamped)
    yield `time stamp   over the checkpoint of ${verdict.stamped.size} events, at ${verdict.stamped.at}; its signature is not verified here`
  for (const { check, count, examples } of verdict.uncounted) {
    yield `ignored      ${check}: ${count}`
    for (const example of examples) yield `             ${example}`
  }
  yield `level        ${level}`
  if (next !== '') yield `             ${next}`
  for (const { check, count, examples } of faults) {
    yield `FAULT        ${check}: ${count}`
    for (const example of examples) yield `             ${example}`
  }
  yield 'This does not prove:'
  for (const each of unproven) yield `- ${each}`
}

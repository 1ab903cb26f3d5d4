import {
  type Actor,
  AverbaError,
  type CommandOptions,
  environmentKeys,
  type Keys,
  type OpenedWith,
  type SubjectRef,
  type SubjectSelector,
} from '../index.ts'
import type { Terminal } from './terminal.ts'

export const logOptions = {
  '--keys <file>': 'the keyring, when it is not beside the file: that of a log on PostgreSQL',
  '--root-key-from <variable>': {
    text: 'the environment variable that holds the root key, when the keyring does not',
    read: readRootKey,
  },
} as const

export type LogOptions = Pick<OpenedWith, 'store' | 'pool' | 'keyring' | 'rootKey' | 'highWaterMark'>

export function readLogOptions(store: string, { keys, rootKeyFrom }: LogOptionValues): LogOptions {
  return { store, ...(keys !== undefined && { keyring: keys }), ...(rootKeyFrom && { rootKey: rootKeyFrom }) }
}

export interface LogOptionValues {
  readonly keys?: string | undefined
  readonly rootKeyFrom?: Keys | undefined
}

/**
 * Rejects options that have no use here: the user would believe that they were used.
 *
 * @throws {AverbaError} `INVALID_INPUT` for the first that was given
 */
export function rejectOptions(
  options: Readonly<Record<`--${string}`, unknown>>,
  describe: (option: string) => string,
  hint: string,
): void {
  const [given] = Object.entries(options).find(([, value]) => value !== undefined) ?? []
  if (given !== undefined) throw new AverbaError('INVALID_INPUT', describe(given), { hint })
}

/** Reads a root key from the variable of this name. What is no name may be the key itself: it is not repeated. */
export function readRootKey(variable: string): Keys {
  if (/^[A-Za-z_]\w*$/.test(variable)) return environmentKeys({ variable })
  throw new AverbaError('INVALID_INPUT', 'Cannot read the root key: the name of an environment variable is needed', {
    hint: 'Set a variable to the key, and give its name: a key on the command line is seen by others',
  })
}

/** Reads a whole number of this form. An empty text never becomes 0. Throws `INVALID_INPUT` with the message. */
export function numberReader(form: RegExp, message: string, max = Number.POSITIVE_INFINITY) {
  return (text: string): number => {
    if (form.test(text) && Number(text) <= max) return Number(text)
    throw new AverbaError('INVALID_INPUT', message)
  }
}

export const readLimit = numberReader(/^[1-9]\d{0,5}$/, 'Cannot use --limit: give a number from 1 to 999999')

export const limitOption = { '--limit <count>': { text: 'how many to list', fallback: 100, read: readLimit } } as const

/**
 * Rejects ids together with options that select: the ids alone would count.
 *
 * @throws {AverbaError} `INVALID_INPUT`
 */
export function rejectSelection(ids: readonly string[], filter: object): void {
  const options = Object.entries(filter).map(([name, value]) => [`--${name}`, value || undefined])
  const hint = 'Give the ids, or what selects'
  if (ids.length > 0) rejectOptions(Object.fromEntries(options), option => `Cannot use ${option} with ids`, hint)
}

/** Who acts. The log keeps it. */
export const actor = {
  text: 'who acts, such as the number of an agent: kept in clear; by default AVERBA_ACTOR',
  variable: 'AVERBA_ACTOR',
} as const

export const purpose = 'the purpose, such as the number of a request: kept in clear'

/** The option of every command that a person decides on. */
export const actorOption = { '--actor <ref>': { ...actor, isRequired: true } } as const

/** The options of every command that acts on many: with `--dry-run` nobody decides anything yet. */
export const actOptions = {
  '--actor <ref>': actor,
  '--dry-run': 'only list what it would act on, without --actor',
} as const

/** Reads who acts; `undefined` when the command only lists. */
export function readActorUnless(dryRun: boolean, ref: string | undefined): Pick<CommandOptions, 'actor'> | undefined {
  if (dryRun) return undefined
  if (ref !== undefined) return readActor(ref)
  throw actorMissing()
}

/** The error of every command that acts. */
export function actorMissing(): AverbaError {
  const hint = 'The log keeps who decides: give --actor <ref>, or set AVERBA_ACTOR'
  return new AverbaError('INVALID_INPUT', 'Cannot act: --actor is missing', { hint })
}

/** The options of every command that shows personal data: the log keeps who saw it, and why. */
export const revealOptions = {
  '--data': 'show the personal data itself, with --actor and --purpose: the log keeps who saw it',
  '--actor <ref>': actor,
  '--purpose <text>': purpose,
} as const

/**
 * Reads who sees personal data, and why; `undefined` when it is not asked for.
 *
 * @throws {AverbaError} `INVALID_INPUT` for a part of the question without the others
 */
export function readReveal({
  data,
  actor: ref,
  purpose,
}: Record<'actor' | 'purpose', string | undefined> & { data: boolean }): { actor: Actor; purpose: string } | undefined {
  const hint = 'Give --data, --actor and --purpose together: the log keeps who saw the data'
  if (!data) {
    // An actor may come from the environment.
    rejectOptions({ '--purpose': purpose }, option => `Cannot use ${option}`, hint)
    return undefined
  }
  if (ref !== undefined && purpose !== undefined) return { actor: { kind: 'person', ref }, purpose }
  const missing = ref === undefined ? '--actor' : '--purpose'
  throw new AverbaError('INVALID_INPUT', `Cannot show the data: ${missing} is missing`, { hint })
}

export function readActor(ref: string): Pick<CommandOptions, 'actor'> {
  return { actor: { kind: 'person', ref } }
}

export const subjectOption = {
  '--subject <ref>': 'the data subject; without it the CPF is read from standard input',
} as const

export const cpfNote =
  'A CPF is read from standard input, since command lines appear in process lists and shell histories.'

/** The data subject of the option, or of the CPF in the first line of standard input. */
export async function readSubject(terminal: Terminal, subject: string | undefined): Promise<SubjectSelector> {
  // The API checks it: an unknown one is not found.
  return subject === undefined ? { cpf: await readCpf(terminal) } : { subject: subject as SubjectRef }
}

/** Reads the first line, up to about 100 characters. Prompts for it on a terminal. */
async function readCpf({ stdin, stderr }: Terminal): Promise<string> {
  if (stdin.isTTY) stderr.write('CPF: ')
  let text = ''
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += chunk
    if (text.includes('\n') || text.length > 100) break
  }
  return (text.split('\n', 1)[0] ?? '').trim()
}

/**
 * Parses an option; whoever uses it checks its members.
 *
 * @throws {AverbaError} `INVALID_INPUT` with the message, when it is not JSON
 */
export function parseJson<T>(text: string, message: string, hint: string): T {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new AverbaError('INVALID_INPUT', message, { cause, hint })
  }
}

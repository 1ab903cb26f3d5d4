import {
  AverbaError,
  environmentKeys,
  type Keys,
  type OpenedWith,
  type SubjectRef,
  type SubjectSelector,
} from '../index.ts'
import type { Terminal } from './terminal.ts'

/** The options of every command that opens a log. */
export const logOptions = {
  '--keys <file>': 'the keyring, when it is not beside the file: that of a log on PostgreSQL',
  '--root-key-from <variable>': {
    text: 'the environment variable that holds the root key, when the keyring does not',
    read: readRootKey,
  },
} as const

/** What the help says of the log that a command opens. */
export const logArgument = 'the file of the log, or the address of its schema on PostgreSQL; it may be in use'

/** A log that a command opens, as these options say. */
export interface LogOptions extends Pick<OpenedWith, 'store' | 'rootKey'> {
  /** The path of its keyring. */
  readonly keyring?: string
}

/** What the options say about a log. */
export function readLogOptions(store: string, { keys, rootKeyFrom }: LogOptionValues): LogOptions {
  return { store, ...(keys !== undefined && { keyring: keys }), ...(rootKeyFrom && { rootKey: rootKeyFrom }) }
}

interface LogOptionValues {
  readonly keys: string | undefined
  readonly rootKeyFrom: Keys | undefined
}

/**
 * Rejects options that have no use here: the user would believe that they were used.
 *
 * @throws {AverbaError} `INVALID_INPUT` for the first that was given
 */
export function rejectOptions(
  options: Readonly<Record<`--${string}`, unknown>>,
  describe: (option: string) => { readonly cannot: string; readonly hint: string },
): void {
  const [given] = Object.entries(options).find(([, value]) => value !== undefined) ?? []
  if (given === undefined) return
  const { cannot, hint } = describe(given)
  throw new AverbaError('INVALID_INPUT', cannot, { hint })
}

/** Reads a root key from the variable of this name. What is no name may be the key itself: it is not repeated. */
export function readRootKey(variable: string): Keys {
  if (/^[A-Za-z_]\w*$/.test(variable)) return environmentKeys({ variable })
  throw new AverbaError('INVALID_INPUT', 'Cannot read the root key: the name of an environment variable is needed', {
    hint: 'Set a variable to the key, and give its name: a key on the command line is seen by others',
  })
}

/** The option of every command that is about a data subject. */
export const subjectOption = {
  '--subject <ref>': 'the data subject; without it the CPF is read from standard input',
} as const

/** What the help says of it. */
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

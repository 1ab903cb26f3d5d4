import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AverbaError } from '../../index.ts'
import type { Fault, Policies, RunningServices, SavedServices } from '../../simulation/index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import type { Say } from '../language.ts'
import { numberReader, parseJson } from '../options.ts'
import { printError, printResult } from '../output.ts'
import { isControlRunning } from '../running-control.ts'
import { waitForStop } from '../terminal.ts'

/**
 * The addresses of the simulated services, with file paths of their certificates, as printed with `--json`. `env` is a
 * file of lines NAME=value, quoted only where a shell needs it: the variables of the `averba init` configuration.
 */
export type SimulationAddresses = ReturnType<typeof writeAddresses>

const portWords = 'Cannot use the port: it has to be a number from 1 to 65531'
const readPort = numberReader(/^0*[1-9]\d{0,4}$/, portWords, 65_531)
const readSeed = numberReader(/^\d{1,9}$/, 'Cannot use the seed: it has to be a number of up to nine digits')

export const simulateCommand = defineCommand({
  usage: 'simulate',
  description: 'Serve the simulated services over TLS on loopback, until stopped.',
  options: {
    '--json': 'print their addresses as one JSON object on the first line',
    '--dir <folder>':
      'a new folder for the certificates, or that of an earlier run, which goes on; by default a temporary one',
    '--seed <number>': { text: 'make ids, tokens and random faults repeatable', read: readSeed },
    '--fault <json>': { text: 'a fault from the start; may be repeated', read: addFault, fallback: [] },
    '--policies <json>': { text: 'the behaviour that the contracts leave open', read: readPolicies },
    '--deliver-from <address>': 'the address in 127.0.0.0/8 that notifications come from',
    '--port <number>': {
      text: 'the first of five ports, the last for the control server; by default free ones, or the former',
      read: readPort,
    },
    '--host <address>': 'the address to listen on, such as 0.0.0.0 in a container; by default that of loopback',
    '--name <name>': 'the name in addresses and certificates; by default localhost',
  },
  example: 'averba simulate --port 9443 --json',
  /** Deletes a temporary folder at the end. A given one stays, with what the next run there goes on with. */
  async run(terminal, { dir, json, seed, fault: faults, policies, deliverFrom, port, host, name: givenName }) {
    // From the start: as the first process of a container it has no other way to end.
    const stopped = waitForStop(terminal)
    const { folder, run } = openFolder(dir)
    if (run) await checkNotRunning(run, folder)
    const name = givenName ?? run?.name
    // A folder without a run would make the next one fail.
    const isKept = () => dir !== undefined && existsSync(join(folder, runFile))
    // Loaded here, since it is slow to load and few commands need it.
    const { ShiftedClock, seededEntropy, startControl, startServices } = await import('../../simulation/index.ts')
    const clock = new ShiftedClock(run?.aheadMs)
    try {
      const runs = (run?.runs ?? 0) + 1
      // The ids of an earlier run are taken.
      const entropy = seed === undefined ? undefined : seededEntropy(seed, runs === 1 ? '' : `run ${runs} `)
      const given = { clock, faults, policies, deliverFrom, entropy, saved: run?.services }
      const services = await startServices({ ...given, port, host, name })
      const control = await startControl(services, clock, {
        port: port ? port + 4 : run && Number(new URL(run.control).port),
        host,
        name,
      })
      const save = async ({ isStopped = false } = {}) =>
        writeRun(folder, {
          ...{ runs, isStopped, aheadMs: clock.aheadMs, name, control: control.baseUrl },
          services: await services.save(),
        })
      if (dir !== undefined) await save()
      if (run && !run.isStopped)
        printError(terminal, terminal.say`The last run here was killed: what came after it had started is lost.`)
      const addresses = writeAddresses(services, control.baseUrl, folder)
      printResult(terminal, json, addresses, formatAddresses(terminal.say, addresses))
      await stopped
      await control.close()
      await services.close()
      if (dir !== undefined) await save({ isStopped: true })
    } finally {
      if (!isKept()) rmSync(folder, { recursive: true, force: true })
    }
    return exitCodes.done
  },
})

function* formatAddresses(say: Say, addresses: SimulationAddresses): Iterable<string> {
  const { consentService, tokenService, validationService, portal, control, env, samples } = addresses
  yield say`consent service     ${consentService.baseUrl}/consentimento/v1`
  yield say`token service       ${tokenService.url}`
  yield say`validation service  ${validationService.baseUrl}/${validationService.service}/v2/validate/pf`
  yield say`portal              ${portal.baseUrl}/portal/api/ext/webhook`
  yield say`control             ${control.baseUrl}`
  yield say`certificates        ${consentService.ca}, and others in its folder`
  yield say`environment         ${env}, for the configuration of averba init`
  yield say`samples             CPF ${samples.cpf}, CNPJ ${samples.cnpj}: made up, and known to all services`
  yield say`Stop with Ctrl-C. --json prints all of this for programs.`
}

/** Parses a fault and appends it; the simulation checks its members. */
function addFault(text: string, before: readonly Fault[]): readonly Fault[] {
  const hint = `Give an object, such as --fault '{"kind":"lose","times":1}'`
  return [...before, parseJson<Fault>(text, 'Cannot add the fault: it is not JSON', hint)]
}

/** Parses policies; the simulation checks their members. */
function readPolicies(text: string): Policies {
  const hint = `Give an object, such as --policies '{"consentService":{"missingRecord":"badRequest"}}'`
  return parseJson(text, 'Cannot set the policies: they are not JSON', hint)
}

interface Run {
  readonly format: typeof runFormat
  readonly runs: number
  /** Whether it ended by itself, and not by a kill. */
  readonly isStopped: boolean
  /** How far the clock was ahead. */
  readonly aheadMs: number
  readonly name?: string | undefined
  readonly control: string
  readonly services: SavedServices
}

const runFile = 'run.json'
/** Raised when what is written changes. */
const runFormat = 1

/** Makes the folder, or opens that of an earlier run. Another one is refused: it may hold certificates of others. */
function openFolder(dir?: string): { readonly folder: string; readonly run?: Run } {
  if (dir === undefined) return { folder: mkdtempSync(join(tmpdir(), 'averba-simulate-')) }
  const folder = resolve(dir)
  const path = join(folder, runFile)
  const hint = 'Name a new folder inside an existing one, or that of an earlier run'
  if (!existsSync(path)) {
    try {
      mkdirSync(folder)
      return { folder }
    } catch (cause) {
      throw new AverbaError('INVALID_INPUT', `Cannot make the folder "${folder}" for the certificates`, { cause, hint })
    }
  }
  const message = `Cannot go on in the folder "${folder}": its ${runFile} is of another version, or damaged`
  const run = parseJson<Partial<Run> | null>(readFileSync(path, 'utf8'), message, hint)
  const { format, runs, aheadMs, control, services } = run ?? {}
  if (format === runFormat && runs !== undefined && aheadMs !== undefined && URL.canParse(control ?? '') && services)
    return { folder, run: run as Run } // The services check what they saved.
  throw new AverbaError('INVALID_INPUT', message, { hint })
}

/** Two runs in one folder would overwrite each other's certificates. */
async function checkNotRunning({ control }: Run, folder: string): Promise<void> {
  if (!(await isControlRunning(control))) return
  throw new AverbaError('INVALID_INPUT', `Cannot go on in the folder "${folder}": a simulation runs there already`, {
    hint: 'Stop it first, or name a new folder',
  })
}

/** The file holds the key of the authority, which only trusts made-up services. */
function writeRun(folder: string, run: Omit<Run, 'format'>): void {
  replaceFile(join(folder, runFile), JSON.stringify({ format: runFormat, ...run }))
}

/** Whoever reads the file of an earlier run meanwhile gets it whole. */
function replaceFile(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

function writeAddresses(services: RunningServices, controlUrl: string, folder: string) {
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    replaceFile(path, text)
    return path
  }
  const { options, samples, portalHeaders } = services
  const ca = write('ca.pem', services.ca)
  const [cert, key] = [write('client.pem', services.client.cert), write('client.key', services.client.key)]
  const [serverCert, serverKey] = [services.receiver.cert, services.receiver.key]
  const receiver = { cert: write('receiver.pem', serverCert), key: write('receiver.key', serverKey) }
  const addresses = {
    consentService: { baseUrl: options.consentService.baseUrl, ca, cert, key },
    tokenService: { url: options.tokenService.url, ...services.credentials },
    validationService: { baseUrl: options.validationService.baseUrl, service: options.validationService.service },
    portal: { baseUrl: options.portal.baseUrl, headers: portalHeaders },
  }
  const variables = {
    AVERBA_CA: ca,
    AVERBA_CONSENT_URL: addresses.consentService.baseUrl,
    AVERBA_CONSENT_CERT: cert,
    AVERBA_CONSENT_KEY: key,
    AVERBA_TOKEN_URL: addresses.tokenService.url,
    AVERBA_CONSUMER_KEY: addresses.tokenService.consumerKey,
    AVERBA_CONSUMER_SECRET: addresses.tokenService.consumerSecret,
    AVERBA_VALIDATION_URL: addresses.validationService.baseUrl,
    AVERBA_VALIDATION_SERVICE: addresses.validationService.service,
    AVERBA_PORTAL_URL: addresses.portal.baseUrl,
    AVERBA_PORTAL_AUTHORIZATION: portalHeaders.authorization ?? '',
    AVERBA_RECEIVER_URL: 'https://receptor.exemplo.br/averba',
    AVERBA_HOOK_SECRET: 'segredo-de-exemplo',
    AVERBA_SERVER_CERT: receiver.cert,
    AVERBA_SERVER_KEY: receiver.key,
  }
  // Docker takes a value as it stands, with its quotes: only a shell needs them, and only for other characters.
  const quote = (value: string) => (/^[\w@%+=:,./-]*$/.test(value) ? value : `'${value}'`)
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quote(value)}\n`)
  const env = write('averba.env', lines.join(''))
  return { ...addresses, control: { baseUrl: controlUrl }, receiver, ca, samples, env }
}

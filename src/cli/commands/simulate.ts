import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { AverbaError } from '../../index.ts'
import {
  type Fault,
  type Policies,
  type RunningServices,
  ShiftedClock,
  seededEntropy,
  startControl,
  startServices,
} from '../../simulation/index.ts'
import { waitForStop } from '../stop-signals.ts'

/** The addresses of the simulated services, with file paths of their certificates, as printed with `--json`. */
export interface SimulationAddresses {
  readonly consentService: { baseUrl: string; ca: string; cert: string; key: string }
  readonly tokenService: { url: string; consumerKey: string; consumerSecret: string }
  readonly validationService: { baseUrl: string; service: string }
  readonly portal: { baseUrl: string; headers: Readonly<Record<string, string>> }
  readonly control: { baseUrl: string }
  /** A server certificate for `localhost` and `*.exemplo.br`. */
  readonly receiver: { cert: string; key: string }
  readonly ca: string
  readonly samples: { cpf: string; cnpj: string }
  /** A file of lines NAME='value': the environment variables of the `averba init` configuration for these services. */
  readonly env: string
}

/** The options of `averba simulate`. */
export interface SimulateOptions {
  /** A new folder for the certificates; a temporary one when absent. */
  readonly dir?: string
  /** Makes ids, tokens and random faults repeatable; random when absent. */
  readonly seed?: number
  /** The faults from the start. */
  readonly faults?: readonly Fault[]
  /** The behaviour that the contracts leave open. */
  readonly policies?: Policies
  /** The address in 127.0.0.0/8 that deliveries come from. */
  readonly deliverFrom?: string
}

/**
 * Serves the simulated services until the process is stopped, or the process that started it has ended. Deletes a
 * temporary folder at the end; `dir` stays.
 *
 * @throws {AverbaError} `INVALID_INPUT` when the folder exists already, or cannot be made
 */
export async function runSimulation(
  announce: (addresses: SimulationAddresses) => void,
  { dir, seed, ...options }: SimulateOptions,
): Promise<void> {
  const folder = createFolder(dir)
  try {
    await serveFrom(folder, announce, options, seed)
  } catch (error) {
    // An incomplete folder would make the next run fail.
    rmSync(folder, { recursive: true, force: true })
    throw error
  }
  if (dir === undefined) rmSync(folder, { recursive: true, force: true })
}

async function serveFrom(
  folder: string,
  announce: (addresses: SimulationAddresses) => void,
  options: Omit<SimulateOptions, 'dir' | 'seed'>,
  seed: number | undefined,
): Promise<void> {
  const clock = new ShiftedClock()
  const entropy = seed !== undefined && { entropy: seededEntropy(seed) }
  const services = await startServices({ clock, ...options, ...entropy })
  const control = await startControl(services, clock)
  const stopped = waitForStop()
  announce(await writeAddresses(services, control.baseUrl, folder))
  await stopped
  await control.close()
  await services.close()
}

function createFolder(dir?: string): string {
  if (dir === undefined) return mkdtempSync(join(tmpdir(), 'averba-simulate-'))
  const folder = resolve(dir)
  try {
    mkdirSync(folder)
  } catch (cause) {
    // An existing folder is refused: overwriting certificates would break the programs that use them.
    throw new AverbaError('INVALID_INPUT', `Cannot make the folder "${folder}" for the certificates`, {
      cause,
      hint: 'Name a new folder inside an existing one',
    })
  }
  return folder
}

async function writeAddresses(
  services: RunningServices,
  controlUrl: string,
  folder: string,
): Promise<SimulationAddresses> {
  const write = (name: string, text: string) => {
    const path = join(folder, name)
    writeFileSync(path, text, { mode: 0o600 })
    return path
  }
  const { options, samples, client, receiver, portalHeaders } = services
  const { consumerKey, consumerSecret } = services.credentials
  const ca = write('ca.pem', services.ca)
  const addresses = {
    consentService: {
      baseUrl: options.consentService.baseUrl,
      ca,
      cert: write('client.pem', client.cert),
      key: write('client.key', client.key),
    },
    tokenService: { url: options.tokenService.url, consumerKey, consumerSecret },
    validationService: {
      baseUrl: options.validationService.baseUrl,
      service: options.validationService.service,
    },
    portal: { baseUrl: options.portal.baseUrl, headers: portalHeaders },
    control: { baseUrl: controlUrl },
    receiver: { cert: write('receiver.pem', receiver.cert), key: write('receiver.key', receiver.key) },
    ca,
    samples,
  }
  return { ...addresses, env: write('averba.env', formatEnvironment(addresses)) }
}

/** Formats the variables of the configuration template with the values for these services. */
function formatEnvironment({
  consentService,
  tokenService,
  validationService,
  portal,
  receiver,
  ca,
}: Omit<SimulationAddresses, 'env'>): string {
  const variables = {
    AVERBA_CA: ca,
    AVERBA_CONSENT_URL: consentService.baseUrl,
    AVERBA_CONSENT_CERT: consentService.cert,
    AVERBA_CONSENT_KEY: consentService.key,
    AVERBA_TOKEN_URL: tokenService.url,
    AVERBA_CONSUMER_KEY: tokenService.consumerKey,
    AVERBA_CONSUMER_SECRET: tokenService.consumerSecret,
    AVERBA_VALIDATION_URL: validationService.baseUrl,
    AVERBA_VALIDATION_SERVICE: validationService.service,
    AVERBA_PORTAL_URL: portal.baseUrl,
    AVERBA_PORTAL_AUTHORIZATION: portal.headers.authorization ?? '',
    AVERBA_RECEIVER_URL: 'https://receptor.exemplo.br/averba',
    AVERBA_HOOK_SECRET: 'segredo-de-exemplo',
    AVERBA_SERVER_CERT: receiver.cert,
    AVERBA_SERVER_KEY: receiver.key,
  }
  return Object.entries(variables)
    .map(([name, value]) => `${name}='${value}'\n`)
    .join('')
}

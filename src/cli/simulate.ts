import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  type Fault,
  type RunningServices,
  ShiftedClock,
  startControl,
  startServices,
} from '../simulation/index.ts'
import { untilToldToStop } from './until-told-to-stop.ts'

/** Where the simulated services are, for programs: file paths for certificates, whole addresses. */
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
}

/** Serves the simulated services until the process is told to stop, or whoever started it is gone. */
export async function runSimulation(
  announce: (addresses: SimulationAddresses) => void,
  { dir, faults = [] }: { dir?: string; faults?: readonly Fault[] } = {},
): Promise<void> {
  const clock = new ShiftedClock()
  const services = await startServices({ clock, faults })
  const control = await startControl(services, clock)
  const stopped = untilToldToStop()
  announce(await addressesOf(services, control.baseUrl, folderOf(dir)))
  await stopped
  await control.close()
  await services.close()
}

function folderOf(dir?: string): string {
  if (dir === undefined) return mkdtempSync(join(tmpdir(), 'averba-simulate-'))
  mkdirSync(dir, { recursive: false })
  return resolve(dir)
}

async function addressesOf(
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
  return {
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
}

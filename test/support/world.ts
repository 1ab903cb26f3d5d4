import { join } from 'node:path'
import { type Averba, type AverbaOptions, type LogLine, openAverba } from '../../src/index.ts'
import {
  type RunningServices,
  type ServicesOptions,
  simulate,
  startServices,
  type World,
  type WorldOptions,
} from '../../src/simulation/index.ts'
import { closeAtEnd } from './close-at-end.ts'
import { PostgresSchemas } from './postgres-schemas.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Opens a simulated world, and closes it when the test ends. It keeps what it logs. */
export async function openWorld(options: WorldOptions = {}): Promise<World & { readonly lines: LogLine[] }> {
  const lines: LogLine[] = []
  const logger = (line: LogLine) => void lines.push(line)
  const world = await simulate(await onServer({ ...options, averba: { logger, ...options.averba } }))
  return Object.assign(closeAtEnd(world, options.averba?.clock), { lines })
}

let schemas: Promise<PostgresSchemas> | undefined

/** With `AVERBA_WORLDS=postgres` every world that does not name its store has one on a server. */
async function onServer(options: WorldOptions = {}): Promise<WorldOptions> {
  const isNamed = options.store !== undefined || options.averba?.store !== undefined
  if (process.env.AVERBA_WORLDS !== 'postgres' || isNamed) return options
  schemas ??= PostgresSchemas.start()
  const keyring = join(temporaryFolder(), 'averba.keys')
  // A world in memory has no keyring of which it could tell.
  const logger = (line: LogLine) => line.message.startsWith('a keyring was') || options.averba?.logger?.(line)
  return { ...options, store: (await schemas).newAddress(), averba: { keyring, ...options.averba, logger } }
}

/** Opens an engine, and closes it when the test ends. */
export async function openEngine(options: AverbaOptions): Promise<Averba> {
  return closeAtEnd(await openAverba(options), options.clock)
}

/** Serves the simulated services on loopback, and closes them when the test ends. */
export async function openServices(options?: ServicesOptions): Promise<RunningServices> {
  return closeAtEnd(await startServices(options))
}

/** The consent service of a simulated world, with more options than its address. */
export function consentServiceWith(options: Partial<NonNullable<AverbaOptions['consentService']>>) {
  return { baseUrl: 'https://consentimento.exemplo.br', certificate: { cert: '', key: '' }, ...options }
}

/** The validation service of a simulated world, with more options than its address. */
export function validationServiceWith(options: Partial<NonNullable<AverbaOptions['validationService']>>) {
  return { baseUrl: 'https://validacao.exemplo.br', service: 'datavalid-demonstracao', ...options }
}

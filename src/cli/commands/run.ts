import { Command } from 'commander'
import { type LogLine, onlyAllowed, openAverba, systemClock } from '../../index.ts'
import { printable } from '../../vocabulary/printable.ts'
import { ignoreBrokenPipe, printOrDrop } from '../broken-pipe.ts'
import { defaultConfig, loadConfig } from '../load-config.ts'
import type { Metrics } from '../metrics.ts'
import { serveTenants, type Tenant } from '../serve-tenants.ts'
import { createProbes, type StatusServer, serveStatus } from '../status-server.ts'
import { stopSignals } from '../stop-signals.ts'

const defaultHost = '127.0.0.1'
/** The port that Prometheus knows for exporters of this kind. */
const defaultPort = 9_464

/** The command `averba run`. */
export function runCommand(): Command {
  return new Command('run')
    .description('Run what configurations say, until told to stop: calls, schedules, handlers, receivers.')
    .option('--config <files...>', 'the configuration, or one for each log', [defaultConfig])
    .option('--json', 'taken as with every command: what it prints is JSON lines in any case')
    .addHelpText(
      'after',
      '\nServes /healthz, /readyz and /metrics on run.host and run.port, 127.0.0.1:9464 unless said otherwise.\n' +
        'Receivers of several logs on one port are told apart by path.\n' +
        'SIGTERM and SIGINT let what is under way end; a second one ends at once.\n' +
        'Exit codes: 0 stopped as told, 1 it could not start, 130 and 143 ended by a second signal, 70 a bug.',
    )
    .action(async ({ config }: { config: string[] }) => {
      await runTenants(config)
      // A handler of the host may keep the process alive.
      process.exit()
    })
}

/** A tenant with what reports its state. */
interface RunningTenant extends Tenant {
  readonly metrics: Metrics
}

async function runTenants(configs: readonly string[]): Promise<void> {
  ignoreBrokenPipe()
  const stopping = stopSignals()
  const running: RunningTenant[] = []
  try {
    for (const config of configs) {
      if (!stopping.aborted) running.push(await openTenant(config, configs.length > 1))
    }
    for (const { averba, options } of running) {
      if (!stopping.aborted) await options.run?.prepare?.(averba)
    }
    if (!stopping.aborted) await serveAndRun(running, stopping)
  } finally {
    for (const { metrics } of running) metrics.close()
    await Promise.all(running.map(({ averba }) => averba.close()))
  }
  for (const { logger } of running) logger({ message: 'stopped' })
}

/** Opens the log of a configuration. Where there are several, each line names its own. */
async function openTenant(config: string, isNamed: boolean): Promise<RunningTenant> {
  const options = await loadConfig(config)
  const { clock = systemClock } = options
  const logger = (line: LogLine) => {
    const at = new Date(clock.now()).toISOString()
    printOrDrop(printable(JSON.stringify({ at, ...(isNamed && { config }), ...onlyAllowed(line) })))
  }
  const averba = await openAverba({ ...options, logger })
  // Its library takes long to load, and no other command measures anything.
  const { createMetrics } = await import('../metrics.ts')
  return { config, options, averba, logger, metrics: createMetrics(averba, clock) }
}

/** Serves first, so that a port in use is told before anything runs, and goes on until told to stop. */
async function serveAndRun(running: readonly RunningTenant[], stopping: AbortSignal): Promise<void> {
  const servers: { close(): Promise<void> }[] = []
  const closeAll = () => Promise.all(servers.splice(0).map(server => server.close()))
  const shown: StatusServer[] = []
  try {
    for (const { averba, metrics, options, logger } of running) {
      const { host = defaultHost, port = defaultPort } = options.run ?? {}
      const status = await serveStatus({ host, port }, createProbes(averba, metrics, stopping))
      shown.push(status)
      logger({ message: 'listening', host, port: status.port })
    }
    servers.push(...(await serveTenants(running)))
    const draining = waitForAbort(stopping).then(async () => {
      for (const { logger } of running) logger({ message: 'stopping', signal: String(stopping.reason) })
      await closeAll()
    })
    await Promise.all([...running.map(({ averba }) => averba.run({ signal: stopping })), draining])
  } finally {
    await closeAll()
    await Promise.all(shown.map(status => status.close()))
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

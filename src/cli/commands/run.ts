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
/** The default port of the OpenTelemetry exporter of Prometheus. */
const defaultPort = 9_464

/** The command `averba run`. */
export function runCommand(): Command {
  return new Command('run')
    .description('Run one or more configurations until stopped: calls, schedules, handlers, receivers.')
    .option('--config <files...>', 'the configuration, or one for each log', [defaultConfig])
    .option('--json', 'accepted as by every command; the output is always JSON lines')
    .addHelpText(
      'after',
      '\nServes /healthz, /readyz and /metrics on run.host and run.port, by default 127.0.0.1:9464.\n' +
        'Receivers of several logs on one port are distinguished by path.\n' +
        'After SIGTERM or SIGINT it finishes the work under way, and stops; a second signal stops it at once.\n' +
        'Exit codes: 0 stopped by a signal, 1 it could not start, 130 and 143 stopped by a second signal, 70 a bug.',
    )
    .action(async ({ config }: { config: string[] }) => {
      await runTenants(config)
      // A timer or socket of the host may keep the process alive.
      process.exit()
    })
}

/** A tenant with its metrics. */
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

/** Opens the log of a configuration. With several configurations, each log line names its own. */
async function openTenant(config: string, isNamed: boolean): Promise<RunningTenant> {
  const options = await loadConfig(config)
  const { clock = systemClock } = options
  const logger = (line: LogLine) => {
    const at = new Date(clock.now()).toISOString()
    printOrDrop(printable(JSON.stringify({ at, ...(isNamed && { config }), ...onlyAllowed(line) })))
  }
  const averba = await openAverba({ ...options, logger })
  // Loaded here, since the library is slow to load and only this command needs it.
  const { createMetrics } = await import('../metrics.ts')
  return { config, options, averba, logger, metrics: createMetrics(averba, clock) }
}

/** Starts the servers first, so that a port in use is reported before anything runs. Then runs until stopped. */
async function serveAndRun(running: readonly RunningTenant[], stopping: AbortSignal): Promise<void> {
  const servers: { close(): Promise<void> }[] = []
  const closeAll = () => Promise.all(servers.splice(0).map(server => server.close()))
  const statusServers: StatusServer[] = []
  try {
    for (const { averba, metrics, options, logger } of running) {
      const { host = defaultHost, port = defaultPort } = options.run ?? {}
      const status = await serveStatus({ host, port }, createProbes(averba, metrics, stopping))
      statusServers.push(status)
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
    await Promise.all(statusServers.map(server => server.close()))
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

import { once } from 'node:events'
import { type LogLine, onlyAllowed, openAverba, systemClock } from '../../index.ts'
import { defineCommand, exitCodes } from '../command.ts'
import { defaultConfig, loadConfig } from '../load-config.ts'
import type { Metrics } from '../metrics.ts'
import { printOrDrop } from '../output.ts'
import { serveTenants, type Tenant } from '../serve-tenants.ts'
import { createProbes, type StatusServer, serveStatus } from '../status-server.ts'
import type { Terminal } from '../terminal.ts'

/** The default port of the OpenTelemetry exporter of Prometheus. */
const defaultPort = 9_464

export const runCommand = defineCommand({
  usage: 'run',
  description: 'Run one or more configurations until stopped: calls, schedules, handlers, receivers.',
  options: {
    '--config <files...>': { text: 'the configuration, or one for each log', fallback: [defaultConfig] },
    '--json': 'accepted as by every command; the output is always JSON lines',
  },
  example: 'averba run --config averba.config.ts',
  notes:
    'Serves /healthz, /readyz and /metrics on run.host and run.port, by default 127.0.0.1:9464.\n' +
    'Receivers of several logs on one port are distinguished by path.\n' +
    'After SIGTERM or SIGINT it finishes the work under way, and stops; a second signal stops it at once.\n' +
    'Exit codes: 0 stopped by a signal, 1 it could not start, 130 and 143 stopped by a second signal, 70 a bug.',
  continuesWithoutOutput: true,
  async run(terminal, { config: configs }) {
    const stopping = terminal.stopSignal()
    const running: RunningTenant[] = []
    try {
      for (const config of configs) {
        if (!stopping.aborted) running.push(await openTenant(terminal, config, configs.length > 1))
      }
      for (const { averba, options } of running) {
        if (!stopping.aborted) await options.run?.prepare?.(averba)
      }
      if (!stopping.aborted) await serveAndRun(running, stopping)
    } finally {
      await Promise.all(running.map(({ averba }) => averba.close()))
    }
    for (const { logger } of running) logger({ message: 'stopped', level: 'info' })
    return exitCodes.done
  },
})

type RunningTenant = Tenant & { readonly metrics: Metrics }

async function openTenant(terminal: Terminal, config: string, isNamed: boolean): Promise<RunningTenant> {
  const options = await loadConfig(config)
  const { clock = systemClock } = options
  const logger = (line: LogLine) => {
    const at = new Date(clock.now()).toISOString()
    printOrDrop(terminal, JSON.stringify({ at, ...(isNamed && { config }), ...onlyAllowed(line) }))
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
      const { host = '127.0.0.1', port = defaultPort } = options.run ?? {}
      const status = await serveStatus({ host, port }, createProbes(averba, metrics, stopping))
      statusServers.push(status)
      logger({ message: 'listening', level: 'info', host, port: status.port })
    }
    servers.push(...(await serveTenants(running)))
    const drain = async () => {
      if (!stopping.aborted) await once(stopping, 'abort')
      for (const { logger } of running) logger({ message: 'stopping', level: 'info', signal: String(stopping.reason) })
      await closeAll()
    }
    await Promise.all([...running.map(({ averba }) => averba.run({ signal: stopping })), drain()])
  } finally {
    await closeAll()
    await Promise.all(statusServers.map(server => server.close()))
  }
}

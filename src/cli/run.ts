import { Command } from 'commander'
import { nameOf } from '../handler-time.ts'
import {
  type Averba,
  type AverbaOptions,
  type LogLine,
  onlyAllowed,
  openAverba,
  type ReceiverServer,
  serveReceivers,
  systemClock,
} from '../index.ts'
import { defaultConfig, loadConfig } from './load-config.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { createProbes } from './probes.ts'
import { serveStatus } from './status-server.ts'
import { stopSignals } from './stop-signals.ts'

const defaultHost = '127.0.0.1'
/** The port that Prometheus knows for exporters of this kind. */
const defaultPort = 9_464

/** The command `averba run`. */
export function runCommand(): Command {
  return new Command('run')
    .description('Run what a configuration says, until told to stop: calls, schedules, handlers, receiver.')
    .option('--config <file>', 'the configuration', defaultConfig)
    .option('--json', 'taken as with every command: what it prints is JSON lines in any case')
    .addHelpText(
      'after',
      '\nServes /healthz, /readyz and /metrics on run.host and run.port, 127.0.0.1:9464 unless said otherwise.\n' +
        'SIGTERM and SIGINT let what is under way end; a second one ends at once.\n' +
        'Exit codes: 0 stopped as told, 1 it could not start, 130 and 143 ended by a second signal, 70 a bug.',
    )
    .action(async ({ config }: { config: string }) => {
      await run(config)
      // A handler of the host may hold the process open with something of its own.
      process.exit()
    })
}

async function run(config: string): Promise<void> {
  const stopping = stopSignals()
  const options = await loadConfig(config)
  const { clock = systemClock } = options
  const logger = (line: LogLine) =>
    console.log(JSON.stringify({ at: new Date(clock.now()).toISOString(), ...onlyAllowed(line) }))
  const averba = await openAverba({ ...options, logger })
  const metrics = createMetrics(averba, clock)
  try {
    await options.run?.prepare?.(averba)
    await serveAndRun({ averba, metrics, options, stopping, logger })
  } finally {
    metrics.close()
    await averba.close()
  }
  logger({ message: 'stopped' })
}

interface Running {
  readonly averba: Averba
  readonly metrics: Metrics
  readonly options: AverbaOptions
  readonly stopping: AbortSignal
  readonly logger: (line: LogLine) => void
}

/** Serves first, so that a port that is taken is said before anything runs, and goes on until told to stop. */
async function serveAndRun({ averba, metrics, options, stopping, logger }: Running): Promise<void> {
  const { host = defaultHost, port = defaultPort } = options.run ?? {}
  const status = await serveStatus({ host, port }, createProbes(averba, metrics, stopping))
  let receiver: ReceiverServer | undefined
  try {
    logger({ message: 'listening', host, port: status.port })
    receiver = await serveReceiver(averba, options, logger)
    const draining = aborted(stopping).then(() => {
      logger({ message: 'stopping', signal: String(stopping.reason) })
      return receiver?.close()
    })
    await Promise.all([averba.run({ signal: stopping }), draining])
  } finally {
    await receiver?.close()
    await status.close()
  }
}

async function serveReceiver(
  averba: Averba,
  { receiver, run = {}, clock }: AverbaOptions,
  logger: (line: LogLine) => void,
): Promise<ReceiverServer | undefined> {
  if (!receiver) return undefined
  if (!run.receiver) {
    logger({
      message: 'the receiver is not served by this process: run.receiver is not set',
      detail: 'set run.receiver, unless averba.receiver is served elsewhere',
    })
    return undefined
  }
  const { pathname } = new URL(receiver.publicUrl)
  const served = await serveReceivers({
    ...run.receiver,
    receivers: { [pathname]: averba.receiver },
    onTrouble: error =>
      logger({ message: 'the certificate of the receiver could not be renewed', error: nameOf(error) }),
    ...(clock && { clock }),
  })
  logger({ message: 'receiving', port: served.port })
  return served
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

import { format } from 'node:util'
import { defineCommand, exitCodes } from '../command.ts'
import { lookInto, sourceOptions, withLog } from '../load-config.ts'
import { actor, actorMissing, numberReader } from '../options.ts'
import { printLine } from '../output.ts'
import { waitForStop } from '../terminal.ts'

const readPort = numberReader(/^\d{1,5}$/, 'Cannot use --port: it is not a port', 65_535)

export const consoleCommand = defineCommand({
  usage: 'console',
  description: 'Serve a web page on this machine that shows the log: what waits, consents, the log as it was, charts.',
  options: {
    ...sourceOptions,
    '--operate': 'also act: release calls, replay notifications, decide on consents, reveal data; with --actor',
    '--actor <ref>': actor,
    '--port <number>': { text: 'the port on loopback; by default a free one', fallback: 0, read: readPort },
  },
  example: 'averba console --store averba.sqlite',
  notes:
    'Whoever has the printed address may do what the page does: it holds a token, and is not for others.\n' +
    'Exit codes: 0 stopped by a signal, 1 it could not start.',
  continuesWithoutOutput: true,
  async run(terminal, { operate, actor: ref, port, json, ...source }) {
    if (operate && ref === undefined) throw actorMissing()
    const stopped = waitForStop(terminal)
    await (operate ? withLog : lookInto)(terminal, source, async averba => {
      // Loaded here, since it is slow to load and only this command needs it.
      const { serveConsole } = await import('../../console/serve-console.ts')
      const { language, commands } = terminal.say
      const running = await serveConsole({
        ...{ averba, language, commands, port, actor: operate ? ref : undefined },
        onBug: error => terminal.stderr.write(`${format(error)}\n`),
      })
      printLine(terminal, json ? JSON.stringify({ address: running.address }) : running.address)
      await stopped
      await running.close()
    })
    return exitCodes.done
  },
})

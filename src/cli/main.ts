#!/usr/bin/env node
import { fstatSync } from 'node:fs'
import { oldNode } from '../vocabulary/node-version.ts'
import type { HostTerminal } from './terminal.ts'

/** The entry of the command line: all that touches the process. It checks Node before it loads the program. */
const problem = oldNode(process.versions.node)

/** The exit codes when a second signal ends the process: the same as a shell reports for a killed process. */
const signalCodes = { SIGINT: 130, SIGTERM: 143 } as const

const parentCheckMs = 250

// Node 22 would warn at each command that its SQLite is experimental: docs/versions.md says so.
const [print] = process.listeners('warning')
if (print) {
  process.off('warning', print)
  process.on('warning', warning => /SQLite is an experimental/.test(warning.message) || print(warning))
}

const terminal: HostTerminal = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  get isInputPipe() {
    const input = fstatSync(0)
    return input.isFIFO() || input.isSocket()
  },
  stopSignal() {
    const stopping = new AbortController()
    for (const [signal, exitCode] of Object.entries(signalCodes)) {
      process.on(signal, () => {
        // Calls under way stay in the ledger as started.
        if (stopping.signal.aborted) process.exit(exitCode)
        stopping.abort(signal)
      })
    }
    // npx ends at SIGTERM without passing it on: this process is then the child of another.
    const { ppid } = process
    const checkParent = () => process.ppid === ppid || stopping.abort('SIGTERM')
    if (process.env.npm_command === 'exec') setInterval(checkParent, parentCheckMs).unref()
    return stopping.signal
  },
}

if (problem !== undefined) {
  console.error(problem)
  process.exitCode = 1
} else {
  const { runProgram } = await import('./program.ts')
  // A timer or socket of the host may keep the process alive.
  process.exit(await runProgram(process.argv.slice(2), terminal))
}

#!/usr/bin/env node
import { handleBrokenOutput } from './broken-pipe.ts'

/** The entry of the command line. It checks the version of Node before it loads any other module. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

handleBrokenOutput()

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`averba needs Node 22.19 or newer; this is Node ${process.versions.node}`)
  process.exitCode = 1
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram()
}

#!/usr/bin/env node
import { handleBrokenOutput } from './broken-pipe.ts'

/** The entry of the command line: says what is missing before anything that needs it is loaded. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

handleBrokenOutput()

if (major < 22 || (major === 22 && minor < 19)) {
  console.error(`averba needs Node 22.19 or newer, and this is ${process.versions.node}`)
  process.exitCode = 1
} else {
  const { runProgram } = await import('./program.ts')
  await runProgram()
}

/** Runs the seeds that it is sent, one after the other. */
import { parentPort } from 'node:worker_threads'
import { planOf } from './plan.ts'
import { runSteps } from './run-steps.ts'

const port = parentPort
if (!port) throw new TypeError('This file is a worker')

port.on('message', async ({ seed, days }: { seed: number; days: number }) => {
  port.postMessage(await runSteps(seed, planOf(seed, days)))
})

/** Runs the seeds that it receives, one after the other. */
import { parentPort } from 'node:worker_threads'
import { createPlan } from './plan.ts'
import { runSteps } from './run-steps.ts'

const port = parentPort
if (!port) throw new TypeError('This file is a worker')

port.on('message', async ({ seed, days }: { seed: number; days: number }) => {
  port.postMessage(await runSteps(seed, createPlan(seed, days)))
})

/** Rebuilds the view of consents of a log in a process of its own, and prints its peak memory in MB. */
import { basename, dirname } from 'node:path'
import { openStore } from './workload.ts'

const path = process.argv[2] ?? ''
const store = await openStore(dirname(path), basename(path))
await store.rebuild({ views: ['consents'], compare: false })
await store.close()
console.log(Math.round(process.resourceUsage().maxRSS / 1_024))

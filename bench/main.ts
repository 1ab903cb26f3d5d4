/** `npm run bench -- <name> [--json]`: runs a benchmark and prints what it did; `--json` ends with one object. */
import { benchAudit } from './audit.ts'
import { benchEngine } from './engine.ts'
import { benchStore } from './store.ts'

const benches: Record<string, (say: (line: string) => void) => Promise<Record<string, number>>> = {
  audit: benchAudit,
  engine: benchEngine,
  store: benchStore,
}

const [name = ''] = process.argv.slice(2).filter(argument => !argument.startsWith('--'))
const bench = benches[name]
if (bench) {
  const figures = await bench(line => console.log(line))
  if (process.argv.includes('--json')) console.log(JSON.stringify(figures))
} else {
  console.error(`Name a benchmark: ${Object.keys(benches).join(', ')}`)
  process.exitCode = 1
}

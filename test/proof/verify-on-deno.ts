/** Verifies a folder and prints the level. Deno runs it with read access to that folder only. */
import { verifyBundle } from '../../src/verify.ts'

declare const Deno: { args: string[]; readFileSync(path: string): Uint8Array }

const [dir = ''] = Deno.args
const { level, root, faults } = await verifyBundle(async function* (name) {
  yield Deno.readFileSync(`${dir}/${name}`)
})
console.log(JSON.stringify({ level, root, faults }))

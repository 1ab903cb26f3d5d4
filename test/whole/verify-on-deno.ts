/** Verifies a folder and prints the level. Run by Deno with leave to read that folder, and nothing else. */
import { verifyBundle } from '../../src/verify.ts'

declare const Deno: { args: string[]; readFileSync(path: string): Uint8Array }

const [dir = ''] = Deno.args
const { level, root, faults } = await verifyBundle(async function* (name) {
  yield Deno.readFileSync(`${dir}/${name}`)
})
console.log(JSON.stringify({ level, root, faults }))

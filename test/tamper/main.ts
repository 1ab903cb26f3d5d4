/** `npm run test:tamper [-- --json]`: tampers with a closed log in every way, and says which check found it. */
import { allOf, makeSample, type Tried, tryAll } from './campaign.ts'
import { noEvidence } from './mutations.ts'

const sample = await makeSample(40)
const mutations = allOf(sample, 6)
const tried = await tryAll(sample, mutations)
const groups = Map.groupBy(tried, each => each.mutation.group)
const width = Math.max(...[...groups.keys()].map(group => group.length))
const line = (group: string, each: readonly Tried[]) => {
  const found = each.filter(one => one.found.length > 0)
  const checks = [...new Set(found.flatMap(one => one.found))].join(', ')
  return `${group.padEnd(width)}  ${String(found.length).padStart(3)} of ${String(each.length).padStart(3)}  ${checks}`
}
for (const [group, each] of groups) console.log(line(group, each))
const missed = tried.filter(each => each.found.length === 0)
for (const { mutation } of missed) console.log(`UNDETECTED  ${mutation.group}: ${mutation.name}`)
console.log('')
console.log('No evidence, and not tried:')
for (const [what, why] of Object.entries(noEvidence)) console.log(`  ${what.padEnd(width)}  ${why}`)
if (missed.length > 0) process.exitCode = 1
if (process.argv.includes('--json'))
  console.log(JSON.stringify({ mutations: tried.length, undetected: missed.length }))

/**
 * `npm run test:tamper [-- --json]`: tries every mutation of a closed log, and prints which checks found it. Then lets an
 * engine work on forged logs, and prints what it did because of the forgery.
 */
import { makeSample, tryAll } from './campaign.ts'
import { tryForgeries } from './forgeries.ts'
import { listMutations, noEvidence } from './mutations.ts'

const sample = await makeSample(40)
const tried = await tryAll(sample, listMutations(sample, 6))
const groups = Map.groupBy(tried, each => each.mutation.group)
const width = Math.max(...[...groups.keys()].map(group => group.length))
for (const [group, each] of groups) {
  const found = each.filter(one => one.found.length > 0)
  const counts = `${String(found.length).padStart(3)} of ${String(each.length).padStart(3)}`
  console.log(`${group.padEnd(width)}  ${counts}  ${[...new Set(found.flatMap(one => one.found))].join(', ')}`)
}
const missed = tried.filter(each => each.found.length === 0)
for (const { mutation } of missed) console.log(`UNDETECTED  ${mutation.group}: ${mutation.name}`)
const untold = tried.filter(each => each.isUntold)
for (const { mutation } of untold) console.log(`DOES NOT OPEN, AND DOCTOR IS WELL  ${mutation.group}: ${mutation.name}`)
console.log('\nNot tried, because it is not evidence:')
for (const [subject, reason] of Object.entries(noEvidence)) console.log(`  ${subject.padEnd(width)}  ${reason}`)
console.log('')
const forged = await tryForgeries()
for (const { name, when, deeds, found } of forged) {
  const seen = `the engine did ${deeds.join(', ') || 'nothing'}; ${found.join(', ') || 'UNDETECTED'}`
  console.log(`${when.padEnd(7)}  ${name}: ${seen}`)
}
const obeyed = forged.filter(({ deeds }) => deeds.length > 0)
const unseen = missed.length + forged.filter(({ found }) => found.length === 0).length
if (unseen + untold.length + obeyed.length > 0) process.exitCode = 1
if (process.argv.includes('--json')) {
  const counts = { mutations: tried.length, forgeries: forged.length, undetected: unseen, untold: untold.length }
  console.log(JSON.stringify({ ...counts, obeyed: obeyed.length }))
}

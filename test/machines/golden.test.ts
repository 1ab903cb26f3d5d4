import { expect, test } from 'vitest'
import { explore } from './explore.ts'
import { namedSamples } from './samples.ts'

/**
 * Compares the decisions of each machine, for every state and message, with a file per machine version. When a decision
 * changes, raise the machine's version and write the new file with -u.
 */
test.each(namedSamples)('the decisions of $name are those recorded for its version', async ({ machine, messages }) => {
  const lines = explore(machine, messages).flatMap(({ name, state }) => [
    `In ${name} ${JSON.stringify(state.context)}`,
    ...messages.map(message => {
      const decision = machine.decide(state, message)
      const answer = 'refused' in decision ? `refused: ${decision.refused}` : JSON.stringify(decision.events)
      return `  ${message.type} ${JSON.stringify(message.data)}\n    ${answer}`
    }),
  ])
  expect(lines.length).toBeGreaterThan(0)
  const hint = 'raise the version if the machine decides otherwise, or decides more; then run with -u'
  await expect(`${lines.join('\n')}\n`, hint).toMatchFileSnapshot(`golden/${machine.name}.v${machine.version}.txt`)
})

import { expect, test } from 'vitest'
import { explore } from './explore.ts'
import { samples } from './samples.ts'

/**
 * What each machine decides, in every state, for every message. The file carries the machine's version: a
 * decision that changes under the same version fails here. Raise the version, and write its file with -u.
 */
test.each(samples.map(sample => ({ ...sample, name: sample.machine.name })))(
  '$name decides as its version has always decided',
  async ({ machine, messages }) => {
    const lines = explore(machine, messages).flatMap(({ name, state }) => [
      `In ${name} ${JSON.stringify(state.context)}`,
      ...messages.map(message => {
        const decision = machine.decide(state, message)
        const answer =
          'refused' in decision ? `refused: ${decision.refused}` : JSON.stringify(decision.events)
        return `  ${message.type} ${JSON.stringify(message.data)}\n    ${answer}`
      }),
    ])
    expect(lines.length).toBeGreaterThan(0)
    const text = `${lines.join('\n')}\n`
    await expect(text).toMatchFileSnapshot(`golden/${machine.name}.v${machine.version}.txt`)
  },
)

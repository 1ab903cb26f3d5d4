import type { MakeCheck } from '../check.ts'

/** The rows that serve are those that a replay of the log gives, and no view stands still. */
export const viewsEqualReplay: MakeCheck = (box, say) => ({
  async end() {
    const asked = await box.host.ask(averba => averba.rebuild())
    if (!asked || !('value' in asked)) return say('the views cannot be rebuilt')
    for (const { view, differences, examples } of asked.value) {
      if (differences > 0)
        say(`${differences} rows of ${view} differ, such as ${JSON.stringify(examples[0])}`)
    }
  },
})

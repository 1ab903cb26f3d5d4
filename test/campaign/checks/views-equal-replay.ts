import { Faults } from '../../../src/proof/faults.ts'
import { checkViews } from '../../../src/store/checks/check-views.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import { readCheckpoints } from '../../../src/store/views/projector.ts'
import type { MakeCheck } from '../check.ts'

/**
 * The rows that serve are those that a replay of the log gives, and no view stands still. That is looked at in the file,
 * past the engine; what the engine's own rebuilds find is told by the deed that asks for them.
 */
export const viewsEqualReplay: MakeCheck = (box, say) => ({
  async end() {
    const { views } = box.version
    await box.close()
    const snapshot = await Snapshot.open(box.disk.path)
    try {
      const faults = new Faults()
      await checkViews(snapshot, views, {}, faults, async () => true)
      for (const { examples } of faults.list()) for (const example of examples) say(example)
      const checkpoints = snapshot.run(readCheckpoints)
      for (const { name, version } of views) {
        const found = checkpoints.some(
          each => each.view === name && each.version === version && each.isRunning,
        )
        if (!found) say(`${name} of version ${version} does not serve`)
      }
    } finally {
      snapshot.close()
    }
  },
})

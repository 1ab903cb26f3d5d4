import { Faults } from '../../../src/proof/faults.ts'
import { checkViews } from '../../../src/store/checks/check-views.ts'
import { Snapshot } from '../../../src/store/database/snapshot.ts'
import { readViewProgress } from '../../../src/store/views/projector.ts'
import type { CreateCheck } from '../check.ts'

/**
 * The rows of each view equal a replay of the log, and every view is up to date. This reads the file without the engine;
 * the deed `rebuild` checks the engine's own rebuilds.
 */
export const viewsEqualReplay: CreateCheck = (simulated, report) => ({
  async end() {
    const { views } = simulated.version
    await simulated.close()
    const snapshot = await Snapshot.open(simulated.disk.path)
    try {
      const faults = new Faults()
      await checkViews(snapshot, views, {}, faults, async () => true)
      for (const { examples } of faults.list()) for (const example of examples) report(example)
      const progress = snapshot.run(readViewProgress)
      for (const { name, version } of views) {
        const found = progress.some(each => each.view === name && each.version === version && each.isRunning)
        if (!found) report(`${name} of version ${version} is not up to date`)
      }
    } finally {
      snapshot.close()
    }
  },
})

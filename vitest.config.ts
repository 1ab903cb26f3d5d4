import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** What takes the product from outside, or real time: not part of the quick check. */
const whole = [
  'test/whole/**/*.test.ts',
  'test/contracts/services.test.ts',
  'test/crash/campaign.test.ts',
  'test/campaign/campaign.test.ts',
]

/** What needs nginx in the path: `npm run test:nginx`. */
const nginx = 'test/nginx/*.test.ts'

/** What needs Chromium: `npm run test:browser`. */
const browser = 'test/browser/*.test.ts'

/** What needs Docker: `npm run test:deploy`. */
const deploy = 'test/deploy/*.test.ts'

/** What installs the package, or runs on other runtimes: `npm run test:package`. */
const onRuntimes = 'test/package/*.test.ts'

/** The flows that run on PostgreSQL too: `npm run test:postgres`. */
const onPostgres = [
  'consents/{consent-changes,consents,readings-at-once,requested-changes}',
  'validations/{named-consents,paid-validations,renewal,validations}',
  'notifications/{copies,deliveries,kept-results,notifications}',
  'subscriptions/{changed-secrets,portal-session,subscription-plans,subscriptions}',
  'subjects/{erasures,late-facts}',
].map(files => `test/scenarios/${files}.test.ts`)

/** Those of each area that also run behind a pooler: `npm run test:pgbouncer`. */
const onPgbouncer = [
  'test/scenarios/{consents/consents,validations/paid-validations,notifications/notifications,subjects/erasures}.test.ts',
]

/** What takes long although its file is short. */
const long =
  /(regular-expressions|docs|worst-inputs|postgres|check-ledger|virtual-time|recorded-bundles|tamper)\.test\.ts$/

/**
 * Starts what takes long before what is short, so that no core is left idle at the end. What starts processes comes
 * first. By itself vitest knows durations only from an earlier run, and runs projects in the order of their names.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ project, moduleId }: TestSpecification) =>
      project.name === 'whole' ? 0 : long.test(moduleId) ? 1 : 2
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b))
  }
}

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    globalSetup: 'test/support/run-folder.ts',
    // Many tests wait for processes of their own: one worker more than cores leaves no core idle.
    maxWorkers: availableParallelism() + 1,
    // No test leaves anything behind in a module: they can share them.
    isolate: false,
    projects: [
      {
        ...{ name: 'quick', include: ['test/**/*.test.ts'], exclude: [...whole, nginx, browser, onRuntimes, deploy] },
        // The longest takes ten seconds by itself, and four times that on a machine with other work.
        ...{ testTimeout: 60_000, hookTimeout: 60_000 },
      },
      ...Object.entries({ postgres: onPostgres, pgbouncer: onPgbouncer }).map(([name, include]) => ({
        ...{ name, include, env: { AVERBA_WORLDS: 'postgres' }, globalSetup: 'test/support/postgres-run.ts' },
        ...{ testTimeout: 120_000, hookTimeout: 120_000 },
      })),
      { name: 'nginx', include: [nginx], testTimeout: 30_000 },
      { name: 'deploy', include: [deploy], testTimeout: 600_000 },
      { name: 'package', include: [onRuntimes], testTimeout: 240_000, hookTimeout: 60_000 },
      { name: 'browser', include: [browser], testTimeout: 120_000, hookTimeout: 60_000 },
      { name: 'whole', include: whole, testTimeout: 120_000, hookTimeout: 120_000 },
    ].map(test => ({
      test: {
        ...test,
        unstubEnvs: true,
        // A machine may stand still for seconds.
        expect: { poll: { timeout: 20_000 } },
        // Node reads the sources by itself, as it does for hosts: nothing transforms them, and nothing mocks a module.
        experimental: { viteModuleRunner: false, nodeLoader: false },
      },
    })),
  },
})

import { defineConfig } from 'vitest/config'

/** What takes the product from outside, or real time: not part of the quick check. */
const whole = [
  'test/whole/**/*.test.ts',
  'test/contracts/services.test.ts',
  'test/crash/campaign.test.ts',
  'test/crash/killed-receiver.test.ts',
  'test/campaign/campaign.test.ts',
]

/** What needs nginx in the path: `npm run test:nginx`. */
const nginx = 'test/nginx/*.test.ts'

export default defineConfig({
  test: {
    globalSetup: 'test/support/run-folder.ts',
    // Left alone it keeps one core for itself, and a machine of two has only one left for the tests.
    maxWorkers: '100%',
    // No test leaves anything behind in a module: they can share them.
    isolate: false,
    projects: [
      {
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [...whole, nginx],
          // The longest takes ten seconds by itself, and four times that on a machine with other work.
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: { name: 'nginx', include: [nginx], testTimeout: 30_000 },
      },
      {
        test: { name: 'whole', include: whole, testTimeout: 120_000, hookTimeout: 120_000 },
      },
    ],
  },
})

import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: ['test/whole/**'],
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'whole',
          include: ['test/whole/**/*.test.ts'],
          testTimeout: 120_000,
        },
      },
    ],
  },
})

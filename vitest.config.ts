import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/home.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: process.env['CI'] ? ['default'] : ['dot'],
  },
});

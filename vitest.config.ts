import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { CountReporter } from './test/support/count-reporter.ts';
import { LongFilesFirst } from './test/support/long-files-first.ts';

// The programs of globalSetup run in the process of vitest itself, and take the sources of packages as the tests do.
registerHooks({
  resolve: (name, context, next) =>
    next(name, { ...context, conditions: ['@signalbox/source', ...context.conditions] }),
});

// The tests, and the many processes that they start, find their code compiled.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('./node_modules/.cache/compiled', import.meta.url));

export default defineConfig({
  test: {
    include: [
      'packages/*/src/**/*.test.ts',
      'packages/protocol/reference/*.test.ts',
      'apps/*/src/**/*.test.ts',
      'test/**/*.test.ts',
      'bench/**/*.test.ts',
    ],
    // They take long, or need programs that are not everywhere: npm run test:long, test:ops, test:browser, test:postgres, test:packages,
    // test:servers and test:clients:served.
    exclude: [
      '**/*.long.test.ts',
      '**/*.agents.test.ts',
      'test/ops/**',
      'test/browser/**',
      'test/postgres/!(killed-broker).test.ts',
      'test/packages/**',
      'test/servers/**',
    ],
    pool: 'forks',
    // Nothing here keeps state in modules, so that files can share a process and load them once.
    isolate: false,
    // Most tests wait for other processes: three workers for each of two cores keep the cores busy.
    maxWorkers: 6,
    // Node itself strips the types: the tests take a tenth to a quarter less processor time than with Vite's module runner.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongFilesFirst },
    env: {
      BUNDLED_PACKAGES: fileURLToPath(
        new URL('./node_modules/.cache/packages/bundle/packages.json', import.meta.url),
      ),
    },
    // Six workers that load much: a young generation of this size from the start saves them an eighth of their processor time.
    execArgv: ['--conditions=@signalbox/source', '--min-semi-space-size=16'],
    allowOnly: false,
    globalSetup: ['test/support/own-home.ts', 'test/support/postgres/one-server.ts'],
    setupFiles: ['test/support/before-each-file.ts'],
    expect: { requireAssertions: true, poll: { timeout: 30_000 } },
    // Only a guard against hanging: on a busy shared machine a test may be slow without being wrong.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    reporters: ['default', new CountReporter()],
  },
});

import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { CountReporter } from './test/support/count-reporter.ts';
import { LongFilesFirst } from './test/support/long-files-first.ts';

const conditions = ['@signalbox/source', 'node', 'development|production'];

export default defineConfig({
  resolve: { conditions },
  // The programs of globalSetup run in the process of vitest itself.
  environments: { __vitest__: { resolve: { conditions, externalConditions: ['@signalbox/source'] } } },
  ssr: { resolve: { conditions, externalConditions: ['@signalbox/source'] } },
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
    // A second run finds its modules transformed.
    fsModuleCache: true,
    sequence: { sequencer: LongFilesFirst },
    // The many processes that the tests start find their code compiled.
    env: {
      NODE_COMPILE_CACHE: fileURLToPath(new URL('./node_modules/.cache/compiled', import.meta.url)),
      BUNDLED_PACKAGES: fileURLToPath(
        new URL('./node_modules/.cache/packages/bundle/packages.json', import.meta.url),
      ),
    },
    // Six workers that load much: a young generation of this size from the start saves them an eighth of their processor time.
    execArgv: ['--conditions=@signalbox/source', '--min-semi-space-size=16'],
    allowOnly: false,
    globalSetup: [
      'test/support/own-home.ts',
      'test/support/bundles.ts',
      'test/support/postgres/one-server.ts',
    ],
    setupFiles: ['test/support/before-each-file.ts'],
    expect: { requireAssertions: true, poll: { timeout: 30_000 } },
    // Only a guard against hanging: on a busy shared machine a test may be slow without being wrong.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    reporters: ['default', new CountReporter()],
  },
});

import type { Reporter, TestModule } from 'vitest/node';

/** PostgreSQL is installed with the other packages where there is a package of it, and else only if somebody names a server. */
const hasPostgres = process.platform === 'linux' && process.arch === 'x64';

/**
 * Fails the run on a skipped or unfinished test, and closes it with one line that counts the tests. Those that need PostgreSQL are skipped
 * without harm where it can't be installed.
 */
export class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const count = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) {
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        count[state]++;
        const mayBeSkipped = !hasPostgres && module.relativeModuleId.startsWith('test/postgres/');
        if ((state === 'skipped' && !mayBeSkipped) || state === 'pending') {
          process.exitCode = 1;
          console.error(
            `not run: ${test.fullName} (${module.relativeModuleId}); a skipped test fails the run`,
          );
        }
      }
      if (module.errors().length > 0) count.failed++;
    }
    const notRun = count.skipped + count.pending;
    console.log(`\n${count.passed} passed, ${count.failed} failed${notRun ? `, ${notRun} skipped` : ''}`);
  }
}

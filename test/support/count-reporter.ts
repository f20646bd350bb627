import type { Reporter, TestModule } from 'vitest/node';

/** PostgreSQL is installed with the other packages where there is a package of it, and else only if somebody names a server. */
const hasPostgres = process.platform === 'linux' && process.arch === 'x64';

/**
 * Fails the run on a skipped or unfinished test, and closes it with the time of each suite and one line that counts the tests. Those that
 * need PostgreSQL are skipped without harm where it can't be installed.
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
    if (modules.length > 1) console.log(`\n${suiteTimes(modules)}`);
    const notRun = count.skipped + count.pending;
    console.log(`\n${count.passed} passed, ${count.failed} failed${notRun ? `, ${notRun} skipped` : ''}`);
  }
}

/** Lists the suites, which are folders, with the seconds that their files took together. Files of several suites run at the same time. */
function suiteTimes(modules: readonly TestModule[]): string {
  const suites = new Map<string, { ms: number; files: number }>();
  for (const module of modules) {
    const name = module.relativeModuleId.split('/').slice(0, 2).join('/');
    const suite = suites.get(name) ?? { ms: 0, files: 0 };
    suites.set(name, { ms: suite.ms + module.diagnostic().duration, files: suite.files + 1 });
  }
  return [...suites]
    .toSorted(([, a], [, b]) => b.ms - a.ms)
    .map(([name, { ms, files }]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${name} (${files})`)
    .join('\n');
}

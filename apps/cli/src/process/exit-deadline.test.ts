import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';

const file = new URL('./exit-deadline.ts', import.meta.url);

/** Runs some lines after a process got a time to end. */
function run(timeoutMs: number, lines: string) {
  const script = `import { startExitDeadline } from '${file}'; startExitDeadline(${timeoutMs}); ${lines}`;
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  return { status, stderr };
}

test('A process that something holds exits with a failure when its time is over.', () => {
  const stderr = expect.stringContaining('did not end within 0.05 s');
  const held = 'setInterval(() => {}, 1000);';
  expect(run(50, held)).toEqual({ status: 1, stderr });
  expect(run(50, `${held} process.exitCode = 75;`)).toEqual({ status: 75, stderr });
});

test('A process that nothing holds ends by itself, long before.', () => {
  expect(run(25_000, '')).toEqual({ status: 0, stderr: '' });
});

import { expect, test } from 'vitest';
import { directoryProblem } from './backup-directory.ts';

const failed = (code: string) => Object.assign(new Error(`${code}: some words`), { code });

test('A broker that may not write to a directory, or does not see it, says where a service may write.', () => {
  for (const code of ['EROFS', 'EACCES', 'EPERM']) {
    const problem = directoryProblem('/backups/today', 'made', failed(code));
    expect(problem).toContain(`/backups/today can't be made: the broker may not do that there (${code}).`);
    expect(problem).toContain('/var/lib/signalbox-backups');
    expect(problem).toContain('--writable');
  }
  const unseen = directoryProblem('/home/rosa/today', 'made', failed('ENOENT'));
  expect(unseen).toContain('/home/rosa does not exist for the broker. Make that one first, with mkdir -p.');
  expect(unseen).toContain('/var/lib/signalbox-backups');
  expect(directoryProblem('/backups/today', 'written', failed('ENOSPC'))).toBe(
    "/backups/today can't be written: ENOSPC: some words",
  );
});

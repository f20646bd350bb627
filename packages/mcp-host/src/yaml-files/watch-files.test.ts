import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchFiles } from './watch-files.ts';

test('A file that changes all the time is told of nevertheless.', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'signalbox-watch-'));
  const file = join(directory.path, 'busy.json');
  let told = 0;
  const options = { debounceMs: 60, onChange: () => told++, onError: () => {} };
  await using _watch = await watchFiles([file], options);
  let writes = 0;
  while (told < 2) {
    await writeFile(file, String(writes++));
    await nextTurn();
  }
  expect(writes).toBeGreaterThan(2);
});

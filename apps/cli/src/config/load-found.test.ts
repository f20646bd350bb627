import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { loadFound } from './load-found.ts';

test('A configuration beside the one that is used is named, with what to do about it.', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'signalbox-'));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const file = join(directory, 'signalbox.yaml');
  writeFileSync(file, 'roles: {}\n');
  const found = { file, by: 'search', passedOver: ['signalbox.yml'] } as const;
  expect((await loadFound({ ...found, passedOver: [...found.passedOver] })).warnings).toEqual([
    `${file} is used, and signalbox.yml beside it is not read: move what it says into signalbox.yaml and remove it, or name the right one with --config`,
  ]);
  expect((await loadFound({ file, by: 'search' })).warnings).toEqual([]);
});

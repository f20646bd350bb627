import { readFile } from 'node:fs/promises';
import { faultPoints } from '@signalbox/serving';
import { expect, test } from 'vitest';

test('The page on evidence explains every fault point.', async () => {
  const guide = await readFile(new URL('../../docs/evidence.md', import.meta.url), 'utf8');
  for (const point of faultPoints) expect(guide).toContain(`| \`${point}\``);
});

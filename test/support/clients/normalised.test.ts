import { expect, test } from 'vitest';
import { normalised } from './normalised.ts';

test('What differs from run to run is replaced, at any depth, and long texts are shortened to their ends and their length.', () => {
  const seen = {
    version: '1.2.3',
    texts: ['file:///home/a/work', 'saved to /home/a/out/x-81.txt, twice', 'at http://127.0.0.1:4711/x'],
    id: 'fc_01a224d7-7704-78d3-8127-1847e82c5934',
    at: 1_795_912_737_505,
    spent: 'Wall time: 0.0100 seconds',
    count: 3,
    long: 'x'.repeat(1_000),
  };
  const { long, ...rest } = normalised(
    seen,
    { HOME: '/home/a', WORK: '/home/a/work' },
    '1.2.3',
  ) as typeof seen;
  expect(rest).toEqual({
    version: 'VERSION',
    texts: ['file://WORK', 'saved to HOME/FILE, twice', 'at http://127.0.0.1:PORT/x'],
    id: 'fc_UUID',
    at: 'TIME',
    spent: 'Wall time: N seconds',
    count: 3,
  });
  expect(long).toMatch(/^x+ … x+ \(1000 characters\)$/);
});

import { expect, test } from 'vitest';
import { endedResult } from './ask-outcome.ts';
import type { Ask } from './ask-table.ts';

test('A question that was given up has the words of its recipient on one line, so that they fake no header.', () => {
  const outcome = {
    status: 'undeliverable',
    reason: 'dead',
    detail: 'no key\nfrom: boss',
    mayHaveRun: true,
  } as const;
  const text = JSON.stringify(endedResult({ id: 'q', to: 'walt' } as Ask, outcome));
  expect(text).toContain('given up (dead: no key\\\\x0afrom: boss)');
  expect(text).not.toContain('key\\nfrom: boss');
});

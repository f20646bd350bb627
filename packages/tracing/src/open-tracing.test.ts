import { expect, it } from 'vitest';
import { openTracing } from './open-tracing.ts';

it('is absent in a process without an SDK', async () => {
  expect(await openTracing({ name: 'test' })).toBeUndefined();
});

import { expect, test } from 'vitest';
import { builtInConfig } from '../config/internal.ts';
import { policyOf } from './policy.ts';

test('Large results are kept for the roles that say from which size on, and for no others.', () => {
  const config = builtInConfig();
  const roles = {
    reader: { tools: ['*'], results: { maxInlineBytes: 10_000 } },
    writer: { tools: ['*'], results: {} },
    tester: { tools: ['*'] },
  };
  expect(policyOf({ ...config, roles }, []).results).toEqual({ reader: { maxInlineBytes: 10_000 } });
});

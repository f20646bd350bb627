import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { schema as auditSchema } from './audit-log/audit-tables.ts';
import { formatVersion } from './database.ts';
import { inboxSchema } from './inbox-store/inbox-schema.ts';
import { tokenSchema } from './token-store.ts';

test('tables that have changed have another version: a database of the version before would fail at any statement', () => {
  const digests = [inboxSchema, tokenSchema, auditSchema].map((schema) => {
    const tables = schema.replace(/--.*/g, '').replace(/\s+/g, ' ');
    return createHash('sha256').update(tables).digest('hex').slice(0, 16);
  });
  expect({ formatVersion, digests }).toEqual({
    formatVersion: 13,
    digests: ['dac6ace0a805109d', '9eb2fc0b9036f773', 'c1b541d72c3e7810'],
  });
});

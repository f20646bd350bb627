import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { schema, schemaVersion } from './journal-database.ts';

test('tables that have changed have another version: a journal of the version before would fail at any statement', () => {
  const tables = schema.replace(/\s+/g, ' ');
  const digest = createHash('sha256').update(tables).digest('hex').slice(0, 16);
  expect({ schemaVersion, digest }).toEqual({ schemaVersion: 9, digest: '1683840b154f4a51' });
});

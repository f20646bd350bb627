import { openPostgresStores } from '@signalbox/postgres';
import type { AuditLog } from '@signalbox/store';
import { auditLogConformance, change, entriesOf, problemsOf } from '@signalbox/store/conformance';
import { describe, expect, it } from 'vitest';
import { openTestStores, serverUrl, testSchema } from '../support/postgres/test-store.ts';

describe.skipIf(serverUrl === undefined)('on PostgreSQL', () => {
  auditLogConformance('PostgreSQL', async ({ maxBytes, ...options } = {}) => {
    const test = await openTestStores({ ...options, ...(maxBytes && { auditBytes: maxBytes }) });
    return {
      get log() {
        return test.stores.audit;
      },
      reopen: async () => (await test.reopen()).audit,
      [Symbol.asyncDispose]: () => test[Symbol.asyncDispose](),
    };
  });

  it('continues the same chains from two brokers, and finds what was changed by hand', async () => {
    await using schema = await testSchema();
    await using one = await openPostgresStores({ ...schema, broker: 'one' });
    await using two = await openPostgresStores({ ...schema, broker: 'two' });
    const [first, second] = [one.audit, two.audit];
    const record = async (log: AuditLog, name: string): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        log.record(change({ name, detail: String(i) }));
        await log.changesWritten();
      }
    };
    await Promise.all([record(first, 'first'), record(second, 'second')]);
    const entries = await entriesOf(first, ['change']);
    expect(entries).toHaveLength(40);
    for (const name of ['first', 'second'])
      expect(entries.filter((entry) => entry.name === name).map(({ detail }) => detail)).toEqual(
        Array.from({ length: 20 }, (_, i) => String(i)),
      );
    expect(await problemsOf(second)).toEqual([]);
    await schema.sql(`UPDATE @audit SET entry = replace(entry, '"first"', '"third"') WHERE number = 3`);
    await schema.sql(`UPDATE @audit SET entry = replace(entry, '"second"', '"third"') WHERE number = 3`);
    expect(await problemsOf(second)).toEqual([expect.stringContaining("row 3 of kind 'change' was changed")]);
  });

  it('finds no fault with chains whose oldest rows two brokers drop meanwhile', async () => {
    await using schema = await testSchema();
    const auditBytes = { refusal: 2000 };
    await using one = await openPostgresStores({ ...schema, broker: 'one', auditBytes });
    await using two = await openPostgresStores({ ...schema, broker: 'two', auditBytes });
    let isOver = false;
    let written = 0;
    const write = async (log: AuditLog): Promise<void> => {
      while (!isOver) {
        log.record(change({ kind: 'refusal', code: 'forbidden', name: `n${written++}` }));
        await log.read({ since: 0, kinds: ['refusal'], limit: 1 });
      }
    };
    const writing = [write(one.audit), write(two.audit)];
    const problems: string[] = [];
    while (written < 400) problems.push(...(await problemsOf(two.audit)));
    isOver = true;
    await Promise.all(writing);
    expect(problems).toEqual([]);
    const { chain } = await one.audit.readChain('refusal', 0, 1);
    expect(chain.dropped.number).toBeGreaterThan(0);
  });
});

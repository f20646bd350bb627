import { openPostgresJournal } from '@signalbox/postgres/journal';
import { entryOf, journalConformance, okEnd, startedCall } from '@signalbox/store/conformance';
import { describe, expect, test } from 'vitest';
import { serverUrl, testSchema } from '../support/postgres/test-store.ts';

/** A schema with a journal, which several orchestrators open. */
async function journalSchema() {
  const place = await testSchema();
  const open = (options: Partial<Parameters<typeof openPostgresJournal>[0]> = {}) =>
    openPostgresJournal({ url: place.url, schema: place.schema, ...options });
  return { ...place, open };
}

const key = { agent: 'rosa', requestId: 'r' };

describe.skipIf(serverUrl === undefined)('A journal on PostgreSQL', () => {
  journalConformance('The journal on PostgreSQL', journalSchema, { agesWhileClosed: true });

  test('is one for all orchestrators that open it, and tells each what the others have started and how it ended', async () => {
    await using t = await journalSchema();
    await using a = await t.open();
    await using b = await t.open();
    expect(b.id).toBe(a.id);
    expect(b.claim('inbox', () => {})).toEqual(a.claim('inbox', () => {}));
    await a.start(startedCall('r'));
    expect(await b.find(key)).toEqual(entryOf('r'));
    await a.finish(key, okEnd);
    expect(await b.find(key)).toEqual({ ...entryOf('r'), end: okEnd });
  });

  test('starts no call that another orchestrator has started since its entry was read', async () => {
    await using t = await journalSchema();
    await using a = await t.open();
    await using b = await t.open();
    const [seenByA, seenByB] = [await a.find(key), await b.find(key)];
    await b.start(startedCall('r'), seenByB);
    await expect(a.start(startedCall('r'), seenByA)).rejects.toMatchObject({
      code: 'journal_already_started',
    });
    // The end of a call is written by the one that made it, or that knew of its start.
    await a.finish(key, { ...okEnd, outcome: 'internal' });
    expect(await b.find(key)).not.toHaveProperty('end');
    await b.finish(key, okEnd);
    // One that knows of the start may decide to make the call again, and the one that made it first may not.
    await a.start(startedCall('r'), await a.find(key));
    await expect(b.start(startedCall('r'), seenByB)).rejects.toMatchObject({
      code: 'journal_already_started',
    });
  });

  test('reads no more rows for a call when it has many calls of the same agent', async () => {
    await using t = await journalSchema();
    const calls = 600;
    {
      await using journal = await t.open();
      for (let n = 0; n < calls; n += 20) {
        const keys = Array.from({ length: 20 }, (_, of) => ({ agent: 'rosa', requestId: `r${n + of}` }));
        await Promise.all(keys.map(({ requestId }) => journal.start(startedCall(requestId))));
        await Promise.all(keys.map((one) => journal.finish(one, okEnd)));
        for (const one of keys) journal.settle(one, 'stored');
      }
    }
    // A connection that ends has told the server what it read.
    const read = `SELECT idx_tup_read AS rows FROM pg_stat_user_indexes WHERE schemaname = '${t.schema}_journal' AND relname = 'call'
      UNION ALL SELECT seq_tup_read FROM pg_stat_user_tables WHERE schemaname = '${t.schema}_journal' AND relname = 'call'`;
    const rows = (await t.sql(read)).reduce((total, one) => total + Number(one.rows), 0);
    // Each of the three writes finds the row by its key, among its few earlier versions.
    expect(rows).toBeGreaterThan(calls);
    expect(rows).toBeLessThan(20 * calls);
  });

  test('keeps all replies that end at once, also if they are too large for one transaction', async () => {
    await using t = await journalSchema();
    await using journal = await t.open();
    const reply = JSON.stringify({ text: 'x'.repeat(20 * 1024 * 1024) });
    const ids = ['a', 'b', 'c', 'd'];
    await Promise.all(ids.map((id) => journal.start(startedCall(id))));
    await Promise.all(ids.map((id) => journal.finish({ agent: 'rosa', requestId: id }, { ...okEnd, reply })));
    for (const requestId of ids) {
      const kept = await journal.find({ agent: 'rosa', requestId });
      expect(kept?.end?.reply?.length).toBe(reply.length);
    }
  });

  test('of many calls that two orchestrators start at once, each is started by one', async () => {
    await using t = await journalSchema();
    const journals = [await t.open(), await t.open()];
    const ids = Array.from({ length: 200 }, (_, n) => `r${n}`);
    const started = await Promise.all(
      journals.map((journal) =>
        Promise.all(
          ids.map((id) =>
            journal.start(startedCall(id)).then(
              () => true,
              () => false,
            ),
          ),
        ),
      ),
    );
    expect(ids.map((_, n) => started.filter((own) => own[n]).length)).toEqual(ids.map(() => 1));
    for (const journal of journals) await journal[Symbol.asyncDispose]();
  });

  test('tells each orchestrator what the others have proposed, decided and pinned', async () => {
    await using t = await journalSchema();
    await using a = await t.open();
    await using b = await t.open();
    const approval = {
      ...{ id: 'a7', agent: 'rosa', requestId: 'r', role: 'worker', tool: 't', definitionHash: 'd' },
      ...{
        argumentsHash: 'h',
        arguments: '{"path":"\\u0000"}',
        hidden: 0,
        rule: 'ask[0]',
        idempotencyKey: 'k\0',
      },
      ...{ createdAt: 1, deadlineAt: 2 },
    };
    await a.approvals.propose(approval);
    expect(await b.approvals.pending()).toEqual([approval]);
    expect(await b.approvals.findByKey('rosa', 'k\0')).toEqual(approval);
    const changed = new Promise<void>((resolve) => a.approvals.onChanged(resolve));
    const end = { state: 'approved', endedAt: 3, by: { tokenId: 't', agent: 'ann' } } as const;
    expect(await b.approvals.end('a7', end)).toBe(true);
    expect(await a.approvals.end('a7', { ...end, state: 'denied' })).toBe(false);
    await changed;
    expect(await a.approvals.of(key)).toEqual({ ...approval, end });
    await b.start(startedCall('r'));
    expect(await a.approvals.of(key)).toMatchObject({ isUsed: true });
    // One that takes the place of another uses it up.
    await a.approvals.propose({ ...approval, id: 'a8', requestId: 'r8' }, end);
    await a.approvals.propose({ ...approval, id: 'a9', requestId: 'r9' }, end, 'a8');
    const used = await Promise.all(['a8', 'a9'].map(async (id) => (await b.approvals.find(id))?.isUsed));
    expect(used).toEqual([true, undefined]);

    const definition = (hash: string) => ({ kind: 'tool', name: 'read', hash, value: { hash } }) as const;
    const pin = (journal: typeof a, hash: string) =>
      journal.pins.pin('s', { definitions: [definition(hash)], firstOf: 'tool' });
    expect(await pin(a, 'one')).toMatchObject([{ hash: 'one' }]);
    expect(await pin(b, 'two')).toMatchObject([{ hash: 'one' }]);
    const accepted = new Promise<void>((resolve) => a.pins.onChanged(resolve));
    await b.pins.pin('s', { definitions: [definition('two')], by: 'ann' });
    await accepted;
    expect(await a.pins.of('s')).toMatchObject({ seen: ['tool'], pins: [{ hash: 'two', by: 'ann' }] });
    expect(await a.pins.definition('s', { kind: 'tool', name: 'read' })).toEqual({ hash: 'two' });
  });

  test('has one orchestrator serve an inbox, and the next one when that one has ended', async () => {
    await using t = await journalSchema();
    const a = await t.open();
    await using b = await t.open();
    await using c = await t.open();
    expect([await a.lead('inbox'), await b.lead('inbox'), await a.lead('inbox')]).toEqual([
      true,
      false,
      true,
    ]);
    expect(await b.lead('another inbox')).toBe(true);
    await a[Symbol.asyncDispose]();
    const next = await Promise.all([b.lead('inbox'), c.lead('inbox')]);
    expect(next.filter(Boolean)).toHaveLength(1);
  });

  test('lets an orchestrator start nothing more that others count as dead', async () => {
    await using t = await journalSchema();
    await using journal = await t.open();
    await journal.start(startedCall('before'));
    await t.sql(`UPDATE ${t.schema}_journal.incarnation SET is_over = true`);
    await expect(journal.start(startedCall('after'))).rejects.toMatchObject({ code: 'journal_in_use' });
    expect(await journal.failed).toMatchObject({ code: 'journal_in_use' });
    await using next = await t.open();
    expect(await next.find({ agent: 'rosa', requestId: 'after' })).toBeUndefined();
    expect(await next.find({ agent: 'rosa', requestId: 'before' })).toEqual(entryOf('before'));
  });
});

import { issueToken, readAuditChain, releaseHolds } from '@signalbox/client/operator';
import { auditEntryKinds } from '@signalbox/protocol';
import { AuditChainCheck } from '@signalbox/store/internal';
import { describe, expect, it } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokerProcesses } from '../support/postgres/two-brokers.ts';

describe.skipIf(serverUrl === undefined)('Operators', () => {
  it('do through any broker what counts at once at the other one: tokens, holds and dead letters', async () => {
    await using site = await withOperators();
    const { operator, another } = site;
    const { id } = await issueToken(operator, { agent: 'eve', role: 'worker' });
    const tokens = async (of: typeof operator) =>
      (await of.admin('token_list', {})).tokens.map((token) => token.id);
    expect(await tokens(another)).toContain(id);
    expect(await another.admin('token_revoke', { id })).toMatchObject({ revoked: true });
    expect(await tokens(operator)).not.toContain(id);

    const { hold } = await operator.admin('hold', { on: 'agent', name: 'ann', reason: 'a test' });
    expect(await releaseHolds(another, { ids: [hold.id] })).toHaveLength(1);
    expect(await operator.admin('holds', {})).toEqual({ holds: [] });

    await using bob = await site.connect('bob', [site.one]);
    await using inbox = await bob.subscribe();
    await bob.deliver({ to: 'bob', kind: 'note', id: 'n', body: 1 });
    const { seq } = (await inbox.messages.next()).value!;
    await bob.nack([seq!], { dead: true, reason: 'a test' });
    const dead = async () => (await another.admin('dead_list', {})).messages;
    await expect.poll(dead).toMatchObject([{ id: 'n', inbox: 'bob', reason: 'a test' }]);
    const seqs = (await dead()).map((letter) => letter.seq);
    expect(await another.admin('dead_retry', { seqs })).toMatchObject({ retried: seqs });
    expect((await inbox.messages.next()).value).toMatchObject({ id: 'n' });
    const { messages } = await another.admin('history', { since: 0 });
    expect(messages.map((message) => message.id)).toContain('n');
    expect(await another.admin('clock', {})).toEqual({});
  });

  it('find no token, revocation or hold in the audit log that was refused because another broker changed something meanwhile', async () => {
    await using site = await withOperators();
    const { operator, schema } = site;
    const { id, token } = await issueToken(operator, { agent: 'ci-*', role: 'worker' });
    await using minter = await site.connect('ci-0', [site.one], { token });
    const { hold } = await operator.admin('hold', { on: 'agent', name: 'ann', reason: 'a test' });
    const waiting = async () => {
      const query = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'signalbox'`;
      return (await schema.sql(query)).length;
    };
    // The broker has checked the request when it waits for this transaction, which then revokes the token.
    await schema.sql('BEGIN; SELECT version FROM @token_change FOR UPDATE');
    const refused = minter.admin('token_issue', { agent: 'ci-1', role: 'worker' }).catch(({ code }) => code);
    await expect.poll(waiting).toBe(1);
    await schema.sql(`DELETE FROM @token WHERE id = '${id}'; COMMIT`);
    expect(await refused).toBe('unauthorized');
    await schema.sql(`BEGIN; SELECT FROM @hold WHERE id = '${hold.id}' FOR UPDATE`);
    const released = releaseHolds(operator, { ids: [hold.id] }).catch(({ code }) => code);
    await expect.poll(waiting).toBe(1);
    await schema.sql(`DELETE FROM @hold WHERE id = '${hold.id}'; COMMIT`);
    expect(await released).toBe('unknown_hold');
    const { rows } = await readAuditChain(operator, 'change', 0);
    const events = rows.map(({ entry }) => JSON.parse(entry) as { code: string; name: string });
    expect(events).toContainEqual(expect.objectContaining({ code: 'token_issued', name: 'ci-*' }));
    expect(events).not.toContainEqual(expect.objectContaining({ code: 'token_issued', name: 'ci-1' }));
    expect(events).not.toContainEqual(expect.objectContaining({ code: 'hold_released' }));
  });

  it('check one chain for each kind of events, which both brokers write', async () => {
    await using site = await withOperators();
    const { operator, another } = site;
    const issued = Array.from({ length: 20 }, (_, n) =>
      issueToken(n % 2 === 0 ? operator : another, { agent: `agent-${n}`, role: 'worker' }),
    );
    await Promise.all(issued);
    for (const client of [operator, another]) {
      for (const kind of auditEntryKinds) {
        const { rows, chain } = await readAuditChain(client, kind, 0);
        expect(new AuditChainCheck().check(rows, chain, true)).toBeUndefined();
        if (kind === 'change')
          expect(rows.filter(({ entry }) => entry.includes('token_issued')).length).toBeGreaterThan(20);
      }
    }
  });
});

/** Two brokers, with an operator at each. */
async function withOperators() {
  await using starting = new AsyncDisposableStack();
  const site = starting.use(await startTwoBrokerProcesses());
  const { token } = await issueToken(site.operator, { agent: 'operator.two', role: 'operator' });
  const another = starting.use(await site.connect('operator.two', [site.other], { token }));
  const resources = starting.move();
  return { ...site, another, [Symbol.asyncDispose]: () => resources.disposeAsync() };
}

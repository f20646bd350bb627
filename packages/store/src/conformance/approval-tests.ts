import { expect, test, vi } from 'vitest';
import type { ApprovalEnd, ProposedCall, StandingRecord } from '../journal/approval-record.ts';
import type { JournalPlace } from './journal-tests.ts';

/** Makes a call that waits for a decision. */
const proposed = (id: string, more: Partial<ProposedCall> = {}): ProposedCall => ({
  id,
  agent: 'rosa',
  requestId: `request-${id}`,
  role: 'worker',
  tool: 'mcp_shop__order',
  definitionHash: 'definition',
  argumentsHash: 'arguments',
  arguments: '{"item":"tea"}',
  hidden: 0,
  rule: 'ask',
  createdAt: 100,
  deadlineAt: 200,
  ...more,
});

const by = { tokenId: 'token', agent: 'operator' };
const approved: ApprovalEnd = { state: 'approved', endedAt: 150, by };
const denied: ApprovalEnd = { state: 'denied', endedAt: 160, by, reason: 'not today' };

const standing = (id: string): StandingRecord => ({
  id,
  agent: 'rosa',
  role: 'worker',
  tool: 'mcp_shop__order',
  definitionHash: 'definition',
  createdAt: 150,
  until: 1_000,
  by,
});

/** Tests the promises of the approvals of every journal. */
export function approvalTests(start: () => Promise<JournalPlace>): void {
  test('an approval is found by its id, its request and its key, also after a restart', async () => {
    await using t = await start();
    const whole = proposed('a', {
      server: 'shop',
      meta: '{}',
      metaHash: 'm',
      idempotencyKey: 'k',
      hidden: 2,
    });
    {
      await using journal = await t.open();
      await journal.approvals.propose(whole);
      expect(await journal.approvals.find('a')).toEqual(whole);
    }
    await using journal = await t.open();
    const { approvals } = journal;
    expect(await approvals.find('a')).toEqual(whole);
    expect(await approvals.of({ agent: 'rosa', requestId: 'request-a' })).toEqual(whole);
    expect(await approvals.findByKey('rosa', 'k')).toEqual(whole);
    expect(await approvals.find('b')).toBeUndefined();
    expect(await approvals.of({ agent: 'walt', requestId: 'request-a' })).toBeUndefined();
    expect(await approvals.findByKey('walt', 'k')).toBeUndefined();
  });

  test('the newest approval of a key counts, and agents have keys of their own', async () => {
    await using t = await start();
    await using journal = await t.open();
    const { approvals } = journal;
    await approvals.propose(proposed('old', { idempotencyKey: 'k' }));
    await approvals.propose(proposed('new', { idempotencyKey: 'k' }));
    await approvals.propose(proposed('other', { idempotencyKey: 'k', agent: 'walt' }));
    expect(await approvals.findByKey('rosa', 'k')).toMatchObject({ id: 'new' });
    expect(await approvals.findByKey('walt', 'k')).toMatchObject({ id: 'other' });
  });

  test('of several ends the first one counts, and the others write nothing', async () => {
    await using t = await start();
    {
      await using journal = await t.open();
      const { approvals } = journal;
      await approvals.propose(proposed('a'));
      await approvals.propose(proposed('ended'), denied);
      const ends = [approvals.end('a', approved), approvals.end('a', denied, standing('s'))];
      expect(await Promise.all(ends)).toEqual([true, false]);
      expect(await approvals.end('ended', approved)).toBe(false);
      expect(await approvals.end('unknown', approved)).toBe(false);
    }
    await using journal = await t.open();
    const { approvals } = journal;
    expect(await approvals.find('a')).toEqual({ ...proposed('a'), end: approved });
    expect(await approvals.find('ended')).toEqual({ ...proposed('ended'), end: denied });
    expect(await approvals.standing()).toEqual([]);
  });

  test('those without an end are pending, oldest first; all are listed in pages, newest first', async () => {
    await using t = await start();
    await using journal = await t.open();
    const { approvals } = journal;
    for (const id of ['a', 'b', 'c', 'd']) await approvals.propose(proposed(id));
    await approvals.end('b', approved);
    expect((await approvals.pending()).map(({ id }) => id)).toEqual(['a', 'c', 'd']);
    const first = await approvals.list({ limit: 3 });
    expect(first.map(({ record }) => record.id)).toEqual(['d', 'c', 'b']);
    const second = await approvals.list({ limit: 3, before: first.at(-1)!.number });
    expect(second.map(({ record }) => record.id)).toEqual(['a']);
  });

  test('an approval is used up when its call has started, or has ended without a start', async () => {
    await using t = await start();
    {
      await using journal = await t.open();
      const { approvals } = journal;
      for (const id of ['started', 'ended', 'free']) await approvals.propose(proposed(id), approved);
      const key = { agent: 'rosa', requestId: 'request-started' };
      const facts = {
        role: 'worker',
        tool: 'mcp_shop__order',
        inbox: 'b-1 orchestrator',
        lifetimeMs: 60_000,
      };
      await journal.start({ ...key, ...facts, receivedAt: 100, startedAt: 170 });
      await approvals.use({ agent: 'rosa', requestId: 'request-ended' });
    }
    await using journal = await t.open();
    const used = await Promise.all(
      ['started', 'ended', 'free'].map(async (id) => (await journal.approvals.find(id))?.isUsed),
    );
    expect(used).toEqual([true, true, undefined]);
  });

  test('a request that is attached to an approval finds it, and its own approval goes first', async () => {
    await using t = await start();
    {
      await using journal = await t.open();
      await journal.approvals.propose(proposed('a'));
      await journal.approvals.attach('a', { agent: 'rosa', requestId: 'again' });
    }
    await using journal = await t.open();
    expect(await journal.approvals.of({ agent: 'rosa', requestId: 'again' })).toMatchObject({ id: 'a' });
    expect(await journal.approvals.of({ agent: 'walt', requestId: 'again' })).toBeUndefined();
  });

  test('a standing approval is written with the end that gives it, and lasts until it is removed', async () => {
    await using t = await start();
    {
      await using journal = await t.open();
      await journal.approvals.propose(proposed('a'));
      await journal.approvals.end('a', approved, standing('s'));
      expect(await journal.approvals.standing()).toEqual([standing('s')]);
    }
    await using journal = await t.open();
    expect(await journal.approvals.standing()).toEqual([standing('s')]);
    await journal.approvals.removeStanding('s');
    await vi.waitFor(async () => expect(await journal.approvals.standing()).toEqual([]));
  });
}

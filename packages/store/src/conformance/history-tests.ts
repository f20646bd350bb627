import { expect, it } from 'vitest';
import type { HistoryQuery } from '../history.ts';
import type { InboxStore } from '../inbox-store.ts';
import { ack, append, commit, message, type OpenStore, seqOf } from './store-under-test.ts';

const since = 1_700_000_000_000;

export function historyTests(open: OpenStore): void {
  it('tells of settled and unsettled messages by their time of creation', async () => {
    await using setup = await open();
    const { store } = setup;
    const appended = await append(store, [
      message({ id: 'third', createdAt: since + 3 }),
      message({ id: 'first', createdAt: since + 1, correlationId: 'x' }),
      message({ id: 'second', createdAt: since + 2 }),
      message({ id: 'before', createdAt: since - 1 }),
    ]);
    await ack(store, 'inbox', seqOf(appended[2]));
    const dead = { inbox: 'inbox', seq: seqOf(appended[1]), outcome: 'dead' as const, reason: 'why' };
    await commit(store, { settlements: [dead] });
    const at = setup.now();
    const same = { inbox: 'inbox', sender: 'ann', kind: 'note', size: 6 };
    expect(await (await setup.reopen()).history({ since, limit: 9 })).toEqual({
      entries: [
        {
          ...same,
          id: 'first',
          seq: seqOf(appended[1]),
          createdAt: since + 1,
          correlationId: 'x',
          settled: { at, outcome: 'dead', reason: 'why' },
        },
        {
          ...same,
          id: 'second',
          seq: seqOf(appended[2]),
          createdAt: since + 2,
          settled: { at, outcome: 'acked' },
        },
        { ...same, id: 'third', seq: seqOf(appended[0]), createdAt: since + 3 },
      ],
    });
  });

  it('tells of the newest messages first if it is asked so', async () => {
    await using setup = await open();
    const { store } = setup;
    const times = [3, 1, 2, 5, 4, 2];
    await append(
      store,
      times.map((time, i) => message({ id: `m${i}-${time}`, createdAt: since + time })),
    );
    const query = { since: since + 1, until: since + 5, newestFirst: true, limit: 3 };
    const { entries, cursor } = await store.history(query);
    expect(entries.map(({ id }) => id)).toEqual(['m4-4', 'm0-3', 'm5-2']);
    const rest = await store.history({ ...query, cursor: cursor! });
    expect(rest.entries.map(({ id }) => id)).toEqual(['m2-2', 'm1-1']);
    expect(rest.cursor).toBeUndefined();
  });

  it('goes on from page to page without a gap or a repeat', async () => {
    await using setup = await open();
    const { store } = setup;
    const all = Array.from({ length: 5000 }, (_, i) =>
      message({ id: `m${i}`, createdAt: since + Math.floor(((i * 7919) % 5000) / 3) }),
    );
    const appended = await append(store, all);
    const settlements = appended
      .map(seqOf)
      .filter((_, i) => i % 2 === 0)
      .map((seq) => ({ inbox: 'inbox', seq, outcome: 'acked' as const }));
    await commit(store, { settlements });
    const seen: { id: string; createdAt: number }[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined; ) {
      const page = await store.history({ since, limit: 1800, ...(cursor !== '' && { cursor }) });
      seen.push(...page.entries);
      cursor = page.cursor;
    }
    expect(new Set(seen.map(({ id }) => id)).size).toBe(5000);
    expect(seen).toHaveLength(5000);
    const times = seen.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...times].sort((a, b) => a - b));
  });

  it('finds what an agent sent or got, and what belongs to a request', async () => {
    await using setup = await open();
    const { store } = setup;
    await append(store, [
      message({ id: 'q', inbox: 'bob' }),
      message({ id: 're:q', inbox: 'ann#one', sender: 'bob', correlationId: 'q' }),
      message({ id: 'other', inbox: 'annette', sender: 'kim' }),
    ]);
    expect(await found(store, { agent: 'ann' })).toEqual(['q', 're:q']);
    expect(await found(store, { agent: 'kim' })).toEqual(['other']);
    expect(await found(store, { correlationId: 'q' })).toEqual(['q', 're:q']);
    expect(await found(store, { until: since })).toEqual([]);
    expect(await found(store, {})).toEqual(['q', 're:q', 'other']);
  });
}

async function found(store: InboxStore, query: Partial<HistoryQuery>): Promise<string[]> {
  return (await store.history({ since, limit: 9, ...query })).entries.map(({ id }) => id);
}

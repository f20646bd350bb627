import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { startMcpHost } from '@signalbox/mcp-host';
import { counterServer, readCounter, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';
import { replies, send, startStack } from '../support/orchestrator/journal-generations.ts';

interface Place {
  data: string;
  journal: string;
}

/**
 * A store and a journal of two moments. In the old one two calls wait that nobody has started: `done` and `begun`. In the new one
 * the first has run and was answered, and the second is running. Every test has a pair of them run on.
 */
async function startMoments() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const host = starting.use(
    startMcpHost({ servers: { counter: counterServer(join(directory.path, 'counter.jsonl')) } }),
  );
  await host.inventory();
  const place = (name: string) => ({
    data: join(directory.path, name),
    journal: join(directory.path, name, 'journal.db'),
  });
  const [live, old, now] = ['live', 'old', 'now'].map(place) as [Place, Place, Place];
  const copy = (from: Place, to: Place) => cp(from.data, to.data, { recursive: true });
  const runs = (label: string) =>
    readCounter(join(directory.path, 'counter.jsonl')).filter(
      ({ at, args }) => at === 'start' && args.label === label,
    ).length;

  await using broker = await startTestBroker({ dataDir: live.data, durability: 'process' });
  const tokens = {
    orchestrator: await broker.token('orchestrator', 'orchestrator'),
    rosa: await broker.token('rosa'),
  };
  await (await startStack(broker.url, tokens.orchestrator, live.journal, host))[Symbol.asyncDispose]();
  await send(broker.url, tokens.rosa, [
    { id: 'done', tool: 'mcp_counter__count', label: 'done' },
    { id: 'begun', tool: 'mcp_counter__slow', label: 'begun' },
  ]);
  await broker.broker.stop();
  await copy(live, old);
  await broker.restart();
  {
    await using _running = await startStack(broker.url, tokens.orchestrator, live.journal, host);
    await vi.waitFor(() => expect([runs('done'), runs('begun')]).toEqual([1, 1]));
    await vi.waitFor(async () => expect(await replies(broker.url, tokens.rosa)).toHaveProperty('done'));
  }
  await broker.broker.stop();
  await copy(live, now);
  const started = starting.move();
  let pairs = 0;
  return {
    old,
    now,
    runs,
    /** Runs a broker and an orchestrator on copies. Returns the outcomes that rosa finds, and one of a call that she makes then. */
    async runOn({ store, journal }: { store: Place; journal: Place | 'lost' }) {
      const pair = place(`pair-${++pairs}`);
      await copy(store, pair);
      await rm(pair.journal);
      if (journal !== 'lost') await cp(journal.journal, pair.journal);
      await using broker = await startTestBroker({ dataDir: pair.data, durability: 'process' });
      await using _running = await startStack(broker.url, tokens.orchestrator, pair.journal, host);
      await using rosa = await connectBroker({ url: broker.url, token: tokens.rosa, agent: 'rosa#later' });
      const later = await rosa.request(
        'orchestrator',
        'mcp_request',
        { op: 'call', tool: 'mcp_counter__count', arguments: { label: `later-${pairs}` } },
        { timeoutMs: 10_000 },
      );
      expect(later).toMatchObject({ status: 'completed', reply: { json: { result: { content: [{}] } } } });
      expect(runs(`later-${pairs}`)).toBe(1);
      let found: Record<string, string> = {};
      await vi.waitFor(async () => {
        found = await replies(broker.url, tokens.rosa);
        expect(Object.keys(found).sort()).toEqual(['begun', 'done']);
      });
      return found;
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

const unknown = 'outcome_unknown';

test('no pair of a store and a journal of different moments runs a call twice that is not safe to repeat', async () => {
  await using moments = await startMoments();
  const { old, now, runs, runOn } = moments;
  for (const [pair, { done, begun }] of [
    // The journal of the same moment knows both calls.
    [
      { store: now, journal: now },
      { done: 'ok', begun: unknown },
    ],
    // An older journal knows neither.
    [
      { store: now, journal: old },
      { done: 'ok', begun: unknown },
    ],
    [
      { store: now, journal: 'lost' },
      { done: 'ok', begun: unknown },
    ],
    // In an older store both calls wait, although they were started. The journal kept the reply to a requester that was not there.
    [
      { store: old, journal: now },
      { done: 'ok', begun: unknown },
    ],
    [
      { store: old, journal: 'lost' },
      { done: unknown, begun: unknown },
    ],
  ] as const) {
    expect(await runOn(pair)).toEqual({ done, begun });
    expect([runs('done'), runs('begun')]).toEqual([1, 1]);
  }
});

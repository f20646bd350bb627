import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { connectBroker } from '@signalbox/client';
import { listApprovals } from '@signalbox/client/operator';
import { type McpHost, startMcpHost } from '@signalbox/mcp-host';
import { type Policy, startOrchestrator, wholePolicy } from '@signalbox/orchestrator';
import { openSqliteJournal } from '@signalbox/store/journal';
import { counterServer, readCounter, startTestBroker, tempDir } from '@signalbox/testing';
import { expect, test, vi } from 'vitest';

interface Place {
  data: string;
  journal: string;
}

/** An orchestrator that hands running calls to nobody when it stops, as one that is killed. */
async function startStack(
  url: string,
  token: string,
  journalFile: string,
  host: McpHost,
  policy: Partial<Policy> = {},
) {
  await using starting = new AsyncDisposableStack();
  const journal = starting.use(await openSqliteJournal({ file: journalFile }));
  const client = starting.use(await connectBroker({ url, token, agent: 'orchestrator' }));
  starting.use(await startOrchestrator({ client, host, policy: wholePolicy(policy), journal, drainMs: 1 }));
  return starting.move();
}

/** Sends calls that wait in the orchestrator's inbox. */
async function send(url: string, token: string, calls: { id: string; tool: string; label: string }[]) {
  await using rosa = await connectBroker({ url, token, agent: 'rosa' });
  for (const { id, tool, label } of calls) {
    const body = { op: 'call', tool, arguments: { label, ms: 60_000 } };
    await rosa.deliver({ to: 'orchestrator', kind: 'mcp_request', id, body });
  }
}

/** Returns the outcomes of rosa's calls from her inbox: `ok`, or the code of the error. */
async function replies(url: string, token: string): Promise<Record<string, string>> {
  await using rosa = await connectBroker({ url, token, agent: 'rosa#reads' });
  const messages = await rosa.peek({ address: 'rosa' });
  const outcome = (body = '{}') => {
    const { error } = JSON.parse(body) as { error?: { code: string } };
    return error?.code ?? 'ok';
  };
  return Object.fromEntries(
    messages.map(({ correlation_id, body }) => [correlation_id ?? '', outcome(body)]),
  );
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

test('an approval on which nobody has decided ends with its call, also if only the journal was put back and the call is outcome_unknown', async () => {
  await using directory = await tempDir();
  const [file, older] = ['journal.db', 'older.db'].map((name) => join(directory.path, name)) as [
    string,
    string,
  ];
  await using host = startMcpHost({ servers: { counter: counterServer(`${file}.jsonl`) } });
  await using broker = await startTestBroker({ durability: 'process' });
  const token = await broker.token('orchestrator', 'orchestrator');
  const rosa = await broker.token('rosa');
  const approvals = { roles: { worker: ['*'] }, deadlineMs: 60_000, notify: [] };
  const start = () => startStack(broker.url, token, file, host, { approvals });
  const secret = await broker.operatorToken();
  await using operator = await connectBroker({ url: broker.url, token: secret, agent: 'operator#reads' });
  const listed = async () =>
    (await listApprovals(operator, 'orchestrator', { all: true, limit: 2 })).approvals.map(
      ({ state, reason }) => [state, reason],
    );
  {
    await using _first = await start();
    await send(broker.url, rosa, [{ id: 'asked', tool: 'mcp_counter__count', label: 'asked' }]);
    await vi.waitFor(async () => expect(await listed()).toEqual([['pending', undefined]]));
  }
  await cp(file, older);
  await (await start())[Symbol.asyncDispose]();
  await cp(older, file);
  await using _putBack = await start();
  await vi.waitFor(async () => expect(await replies(broker.url, rosa)).toEqual({ asked: unknown }));
  await vi.waitFor(async () => expect(await listed()).toEqual([['cancelled', 'its call has ended']]));
});

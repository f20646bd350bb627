import { connectBroker } from '@signalbox/client';
import { decideApproval, listApprovals } from '@signalbox/client/operator';
import { type Child, readCounter, startChild, tempDir } from '@signalbox/testing';
import { McpProxyExecutor } from '@signalbox/worker';
import { describe, expect, test } from 'vitest';
import { serverUrl } from '../support/postgres/test-store.ts';
import { startTwoBrokers } from '../support/postgres/two-brokers.ts';

const count = 'mcp_counter__count';
const echo = 'mcp_counter__echo';
/** Calls of it wait for a decision. */
const slow = 'mcp_counter__slow';
const main = new URL('../support/postgres/orchestrator-main.ts', import.meta.url);
/** An orchestrator that was not heard of for so long is counted as dead. */
const leaseMs = 1000;

/** An orchestrator in a process, and what it told of itself. */
interface Orchestrator extends Child<{ waits: boolean }> {
  events: string[];
}

/** Two brokers on one schema, and orchestrators with one journal. Rosa is at one broker, and the orchestrators are at the other one. */
async function startSite() {
  await using starting = new AsyncDisposableStack();
  const directory = starting.use(await tempDir());
  const { one, other, schema } = starting.use(await startTwoBrokers());
  const counterFile = `${directory.path}/counter.jsonl`;
  const token = await one.token('orchestrator', 'orchestrator');
  const started = starting.move();
  return {
    /** Connects Rosa, who needs an orchestrator for that. */
    async connect(): Promise<McpProxyExecutor> {
      const connected = { url: other.url, token: await one.token('rosa'), agent: 'rosa' };
      return started.use(await McpProxyExecutor.connect(connected));
    },
    async orchestrator(): Promise<Orchestrator> {
      const database = { url: schema.url, schema: schema.schema };
      const events: string[] = [];
      const args = [JSON.stringify({ url: one.url, token, counterFile, leaseMs, database })];
      const child = await startChild<{ waits: boolean }>(main, {
        args,
        onMessage: (message) => void events.push((message as { event: string }).event),
      });
      started.defer(() => child[Symbol.asyncDispose]());
      return Object.assign(child, { events });
    },
    async operator() {
      const operator = { url: other.url, token: await one.operatorToken(), agent: 'operator#decides' };
      return await connectBroker(operator);
    },
    starts: (label: string) =>
      readCounter(counterFile).filter(({ at, args }) => at === 'start' && args.label === label).length,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}

describe.skipIf(serverUrl === undefined)('Orchestrators with one journal', () => {
  test('serve one at a time: when one is killed amid calls, the other one answers them all, and no unsafe one is made twice', async () => {
    await using site = await startSite();
    const first = await site.orchestrator();
    const second = await site.orchestrator();
    expect([first.ready.waits, second.ready.waits]).toEqual([false, true]);
    const rosa = await site.connect();
    await first.arm('orchestrator.call.sent');
    const labels = Array.from({ length: 20 }, (_, n) => `call-${n}`);
    const calls = labels.flatMap((label) =>
      [count, echo].map(async (name) => ({
        name,
        label,
        ended: await rosa.execute({ name, arguments: { label: `${name} ${label}` } }),
      })),
    );
    expect(await first.exited).toMatchObject({ signal: 'SIGKILL' });
    for (const { name, label, ended } of await Promise.all(calls)) {
      const ran = site.starts(`${name} ${label}`);
      if (name === echo) expect(ended).toHaveProperty('result.success', true);
      else if ('error' in ended) {
        expect(ended.error).toMatchObject({ code: 'outcome_unknown', may_have_run: true });
        expect(ran).toBeLessThanOrEqual(1);
      } else expect(ran).toBe(1);
    }
    expect(second.events).toContain('takes_over');
    expect(await rosa.execute({ name: count, arguments: { label: 'after' } })).toHaveProperty('result');
    expect(site.starts('after')).toBe(1);
  });

  test('one that was stopped for longer than its lease starts nothing when it goes on, and ends', async () => {
    await using site = await startSite();
    const first = await site.orchestrator();
    await site.orchestrator();
    const rosa = await site.connect();
    await rosa.execute({ name: count, arguments: { label: 'before' } });
    process.kill(first.pid, 'SIGSTOP');
    const ended = await rosa.execute({ name: count, arguments: { label: 'during' } });
    expect(ended).toHaveProperty('result.success', true);
    process.kill(first.pid, 'SIGCONT');
    expect(await first.exited).toMatchObject({ code: 70 });
    expect([site.starts('before'), site.starts('during')]).toEqual([1, 1]);
  });

  test('a call that waits for a decision goes on waiting at the next one, and is made once', async () => {
    await using site = await startSite();
    const first = await site.orchestrator();
    await site.orchestrator();
    const rosa = await site.connect();
    await using operator = await site.operator();
    const waiting = async () =>
      (await listApprovals(operator, 'orchestrator', { limit: 1 }).catch(() => undefined))?.approvals ?? [];
    const call = rosa.execute({ name: slow, arguments: { ms: 1, label: 'asked' } });
    await expect.poll(async () => (await waiting()).length).toBe(1);
    const { id } = (await waiting())[0]!;
    await first.end('SIGKILL');
    await expect.poll(async () => (await waiting())[0]?.id).toBe(id);
    await decideApproval(operator, 'orchestrator', id, { verdict: 'approve' });
    expect(await call).toHaveProperty('result.success', true);
    expect(site.starts('asked')).toBe(1);
  });
});

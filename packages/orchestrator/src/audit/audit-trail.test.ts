import type { ClientState } from '@signalbox/client';
import { type AuditReport, encodeFrame, frameLimits, SignalboxError } from '@signalbox/protocol';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { AuditTrail } from './audit-trail.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const startedAt = 1_800_000_000_000;

/** Opens a trail, with the batches that a broker got. The broker refuses them while `failure` is set. */
function trailWithBroker() {
  const batches: { id: string; events: readonly AuditReport[]; sentAt?: number | undefined }[] = [];
  const logged: Record<string, unknown>[] = [];
  const broker = {
    failure: undefined as SignalboxError | undefined,
    name: 'ready' as 'ready' | 'reconnecting',
    answersAfterMs: 0,
  };
  const client = {
    get state(): ClientState {
      return { name: broker.name };
    },
    async audit(id: string, events: readonly AuditReport[], sentAt?: number) {
      batches.push({ id, events, sentAt });
      if (broker.failure) throw broker.failure;
      const { answersAfterMs } = broker;
      if (answersAfterMs > 0) await new Promise((resolve) => setTimeout(resolve, answersAfterMs));
    },
  };
  const trail = new AuditTrail({
    client,
    hostOf: () => undefined,
    now: () => startedAt + performance.now(),
    monotonic: () => performance.now(),
    log: (event) => logged.push(event),
  });
  return { trail, batches, logged, broker };
}

const call = (fields: Partial<AuditReport> = {}): AuditReport => ({
  code: 'call_ended',
  agent: 'rosa',
  name: 'mcp_a__b',
  detail: '',
  ...fields,
});

it('reports in batches that fit into a frame, and says how long ago each event was', async () => {
  const { trail, batches } = trailWithBroker();
  trail.record(call());
  await vi.advanceTimersByTimeAsync(40);
  for (let i = 0; i < 200; i++)
    trail.record(call({ name: `${'x'.repeat(250)}${i}`, detail: 'y'.repeat(400) }));
  expect(batches).toEqual([]);
  await vi.advanceTimersByTimeAsync(60);
  expect(batches.flatMap(({ events }) => events)).toHaveLength(201);
  expect(batches[0]!.events.slice(0, 2)).toMatchObject([{ ago_ms: 100 }, { ago_ms: 60 }]);
  expect(batches[0]!.sentAt).toBe(startedAt + performance.now());
  for (const { id, events } of batches) {
    const frame = encodeFrame({ type: 'audit', request_id: 'c1', batch: id, events });
    expect(frame.length).toBeLessThan(frameLimits.headerLength);
  }
  for (let i = 0; i < 200; i++) trail.record(call());
  await vi.advanceTimersByTimeAsync(100);
  expect(Math.max(...batches.map(({ events }) => events.length))).toBeGreaterThan(50);
});

it('gathers the events of a tenth of a second, also while others come without a rest', async () => {
  const { trail, batches, broker } = trailWithBroker();
  broker.answersAfterMs = 6;
  for (let ms = 0; ms < 1000; ms += 5) {
    trail.record(call());
    await vi.advanceTimersByTimeAsync(5);
  }
  expect(batches.flatMap(({ events }) => events).length).toBeGreaterThan(170);
  expect(batches.length).toBeLessThan(12);
});

it('reports a batch again under the same id until the broker has it', async () => {
  const { trail, batches, logged, broker } = trailWithBroker();
  broker.failure = new SignalboxError('timed_out', 'late');
  const now = startedAt + performance.now();
  trail.record(call(), now - 7);
  trail.record(call(), now - 48 * 3_600_000);
  await vi.advanceTimersByTimeAsync(2100);
  for (const { events, sentAt } of batches)
    expect(events).toMatchObject([{ ago_ms: sentAt! - now + 7 }, { ago_ms: 24 * 3_600_000 }]);
  trail.record(call({ name: 'later' }));
  expect(batches.length).toBeGreaterThan(2);
  expect(new Set(batches.map(({ id }) => id)).size).toBe(1);
  broker.failure = undefined;
  await vi.advanceTimersByTimeAsync(1000);
  expect(batches.at(-1)).toMatchObject({ events: [{ name: 'later' }] });
  expect(batches.at(-1)!.id).not.toBe(batches[0]!.id);
  broker.failure = new SignalboxError('forbidden', 'no');
  trail.record(call());
  await vi.advanceTimersByTimeAsync(5000);
  expect(logged).toMatchObject([{ event: 'audit_failed', events: 1 }]);
});

it('counts refused calls of one agent and tool, and what it gives up while the broker is away', async () => {
  const { trail, batches, broker } = trailWithBroker();
  const refused = call({ code: 'call_refused', outcome: 'permission_denied' });
  for (let i = 0; i < 1000; i++) trail.record(refused);
  trail.record({ ...refused, agent: 'bob' });
  trail.record({ ...refused, role: 'guest' });
  await vi.advanceTimersByTimeAsync(100);
  expect(batches[0]!.events).toMatchObject([
    { agent: 'rosa', count: 1000 },
    { agent: 'bob', count: 1 },
    { agent: 'rosa', role: 'guest', count: 1 },
  ]);
  trail.record(refused);
  await vi.advanceTimersByTimeAsync(100);
  expect(batches[1]!.events).toMatchObject([{ agent: 'rosa', count: 1 }]);

  broker.failure = new SignalboxError('timed_out', 'late');
  trail.record(call());
  await vi.advanceTimersByTimeAsync(100);
  trail.record({ code: 'server_ejected', name: 'files', detail: 'ejected' });
  for (let i = 0; i < 10_004; i++) trail.record(call());
  broker.failure = undefined;
  await vi.advanceTimersByTimeAsync(1000);
  const since = batches.slice(2).flatMap(({ events }) => events);
  expect(since).toContainEqual(expect.objectContaining({ code: 'audit_events_lost', count: 5 }));
  expect(since).toContainEqual(expect.objectContaining({ code: 'server_ejected' }));
});

it('makes any text fit, and reports what is left at its end', async () => {
  const { trail, batches, logged, broker } = trailWithBroker();
  trail.record(call({ name: `\u001b[2J\n${'x'.repeat(300)}`, detail: `a\r\nb\u202e${'y'.repeat(600)}` }));
  await trail[Symbol.asyncDispose]();
  const [event] = batches[0]!.events;
  expect(event!.name).toMatch(/^\\x1b\[2J x+$/);
  expect(event!.name).toHaveLength(256);
  expect(event!.detail).toMatch(/^a b\\u202ey+$/);
  expect(event!.detail).toHaveLength(500);

  const late = trailWithBroker();
  late.broker.name = 'reconnecting';
  late.broker.failure = new SignalboxError('timed_out', 'late');
  late.trail.record(call());
  await late.trail[Symbol.asyncDispose]();
  await vi.advanceTimersByTimeAsync(0);
  expect(late.logged).toMatchObject([{ event: 'audit_lost', events: 1 }]);
  expect([logged, broker.failure]).toEqual([[], undefined]);
});

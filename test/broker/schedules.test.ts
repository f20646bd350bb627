import type { BrokerOptions } from '@signalbox/broker';
import { connectWire, startTestBroker, testClock, type WireClient } from '@signalbox/testing';
import { expect, it, vi } from 'vitest';
import { admin, connect, connectOperator, deliver, subscribe } from '../support/broker/wire-actions.ts';

const minute = 60_000;
const hour = 60 * minute;
const pulse = { everyMs: hour, to: 'rosa', kind: 'task', text: 'look' };

/** A broker with schedules, half an hour after a full hour. Rosa is known, and holds no inbox yet. */
async function startBroker(schedules: NonNullable<BrokerOptions['schedules']>) {
  await using opened = new AsyncDisposableStack();
  const clock = testClock();
  const { now, monotonic } = clock;
  clock.advance(hour + hour / 2 - (now() % hour));
  const logged: { event: string; message?: unknown }[] = [];
  const broker = opened.use(
    await startTestBroker({ now, monotonic, schedules, log: (line) => void logged.push(line) }),
  );
  const rosa = opened.use(await connect(broker, 'rosa'));
  const operator = opened.use(await connectOperator(broker));
  const resources = opened.move();
  return {
    ...{ broker, clock, rosa, operator, logged },
    list: async () => (await admin<{ schedules: unknown[] }>(operator, 'schedules')).schedules,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  };
}

const idsOf = (client: WireClient) =>
  client.received.filter(({ type }) => type === 'message').map(({ id }) => id);

it('sends at its time, as schedule.NAME, with an id of its name and its time', async () => {
  await using opened = await startBroker({ pulse });
  const { clock, rosa, list } = opened;
  await subscribe(rosa);
  const dueAt = clock.now() + hour / 2;
  expect(await list()).toEqual([{ name: 'pulse', to: 'rosa', kind: 'task', every_ms: hour, next_at: dueAt }]);
  clock.advance(hour / 2);
  expect(await rosa.next('message')).toMatchObject({
    id: `pulse@${new Date(dueAt).toISOString()}`,
    from: { agent: 'schedule.pulse', address: 'schedule.pulse', role: 'schedule' },
    kind: 'task',
    body: '"look"',
  });
  await vi.waitFor(async () =>
    expect(await list()).toMatchObject([{ next_at: dueAt + hour, last_at: dueAt }]),
  );
});

it('takes no answer: a reply is confirmed, and in the history, and discarded', async () => {
  await using opened = await startBroker({ pulse });
  const { clock, rosa, operator } = opened;
  await subscribe(rosa);
  clock.advance(hour / 2);
  const { seq, id } = await rosa.next('message');
  await deliver(rosa, 'schedule.pulse', 'r', { kind: 'reply', correlation_id: id, settles: seq });
  await vi.waitFor(async () => {
    const { messages } = await admin<{ messages: unknown[] }>(operator, 'history', {
      since: 0,
      agent: 'schedule.pulse',
    });
    expect(messages).toContainEqual(expect.objectContaining({ id: 'r', outcome: 'acked' }));
  });
});

it('makes up for missed runs by one at the start, unless it is as old as catchUp', async () => {
  const strict = { ...pulse, text: 'strict', catchUpMs: minute };
  await using opened = await startBroker({ pulse, strict });
  const { broker, clock } = opened;
  const began = clock.now() - hour / 2;
  await broker.restart({ now: () => clock.now() + 3 * hour });
  const token = await broker.token('rosa');
  await using rosa = await connectWire(broker.url, { agent: 'rosa', token });
  await subscribe(rosa);
  // No broker ran for long, so that the clock is trusted after five minutes only.
  clock.advance(5 * minute);
  const idAt = (name: string, hours: number) => `${name}@${new Date(began + hours * hour).toISOString()}`;
  await rosa.next('message', { id: idAt('pulse', 3) });
  clock.advance(25 * minute);
  await rosa.next('message', { id: idAt('pulse', 4) });
  await rosa.next('message', { id: idAt('strict', 4) });
  expect(idsOf(rosa).filter((id) => String(id).startsWith('strict'))).toEqual([idAt('strict', 4)]);
  expect(idsOf(rosa)).toHaveLength(3);
});

it('has no run from before a schedule was written, and does one late that fell due while it ran', async () => {
  const strict = { ...pulse, catchUpMs: 0 };
  await using opened = await startBroker({ pulse });
  const { broker, clock } = opened;
  const began = clock.now() - hour / 2;
  // It is away for two and a half hours. Meanwhile one schedule is changed, another one is written.
  const awayMs = 2.5 * hour - minute;
  await broker.restart({ now: () => clock.now() + awayMs, schedules: { pulse: strict, extra: pulse } });
  await using rosa = await connectWire(broker.url, { agent: 'rosa', token: await broker.token('rosa') });
  await subscribe(rosa);
  // The next run falls due after a minute, and the clock is trusted four minutes later.
  clock.advance(5 * minute);
  await vi.waitFor(() => expect(idsOf(rosa)).toHaveLength(2));
  const dueAt = new Date(began + 3 * hour).toISOString();
  expect(idsOf(rosa).sort()).toEqual([`extra@${dueAt}`, `pulse@${dueAt}`]);
});

it('stores a run once, although the broker that did it was killed before it noted its time', async () => {
  await using opened = await startBroker({ pulse });
  const { broker, clock, rosa } = opened;
  await subscribe(rosa);
  clock.advance(hour / 2);
  const { id } = await rosa.next('message');
  // The time that the next broker finds is before the run.
  await broker.restart({ now: () => clock.now() - 1000 });
  await broker.restart({ now: () => clock.now() });
  await using again = await connectWire(broker.url, { agent: 'rosa', token: await broker.token('rosa') });
  await subscribe(again);
  await again.next('message', { id });
  clock.advance(hour);
  await again.next('message');
  expect(idsOf(again)).toHaveLength(2);
  await using operator = await connectOperator(broker);
  expect(await admin(operator, 'schedules')).toMatchObject({
    schedules: [{ last_at: clock.now() - (clock.now() % hour) }],
  });
});

it('does a run after its start that was due in the moment in which the broker before stopped', async () => {
  await using opened = await startBroker({ pulse });
  const { broker, clock } = opened;
  // It stops before it looks what is due.
  clock.advance(hour / 2);
  await broker.restart();
  await using rosa = await connectWire(broker.url, { agent: 'rosa', token: await broker.token('rosa') });
  await subscribe(rosa);
  // The clock has leapt for it, and is trusted after five minutes only.
  clock.advance(5 * minute);
  expect(await rosa.next('message')).toMatchObject({ kind: 'task', from: { agent: 'schedule.pulse' } });
});

it('tries a run again that is refused because nobody knows its recipient, and warns with the nearest name', async () => {
  await using opened = await startBroker({ pulse: { ...pulse, to: 'roza' } });
  const { broker, clock, list, logged } = opened;
  broker.broker.setSchedules({ pulse: { ...pulse, to: 'rosy' } });
  expect(logged).toContainEqual(
    expect.objectContaining({
      event: 'schedule_without_recipient',
      message: expect.stringMatching(
        /^schedules\.pulse\.to: no agent or group 'rosy' is known here \(did you mean 'rosa'\?\)/,
      ),
    }),
  );
  clock.advance(hour / 2);
  await vi.waitFor(async () =>
    expect(await list()).toMatchObject([
      { last_refusal: expect.stringContaining("'rosy'"), last_at: clock.now() },
    ]),
  );
  await using rosy = await connect(broker, 'rosy');
  await subscribe(rosy);
  clock.advance(10_000);
  await rosy.next('message', { kind: 'task' });
  expect(logged.filter(({ event }) => event === 'schedule_refused')).toHaveLength(1);
});

it('puts changed schedules in force while it runs: what has not changed goes on, what is new waits for its next time', async () => {
  await using opened = await startBroker({ pulse });
  const { broker, clock, list, rosa } = opened;
  await subscribe(rosa);
  broker.broker.setSchedules({ pulse, extra: { ...pulse, everyMs: 2 * hour } });
  expect(await list()).toMatchObject([{ name: 'pulse' }, { name: 'extra' }]);
  expect(() =>
    broker.broker.setSchedules({ bad: { ...pulse, everyMs: undefined, cron: '61 * * * *' } }),
  ).toThrow(/^schedules\.bad\.cron: .*minute: 61/);
  clock.advance(hour / 2);
  await rosa.next('message');
  broker.broker.setSchedules({});
  expect(await list()).toEqual([]);
});

import { type BrokerFrame, defaultLimits } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import type { Tail } from '../core/tail.ts';
import type { Caller } from '../frames/caller.ts';
import { Lanes } from './lanes.ts';

/** A connection of an agent, and the frames that the broker sent to it. */
function caller(agent: string, role: string) {
  const sent: BrokerFrame[] = [];
  const consumer = { send: (frame: BrokerFrame) => sent.push(frame) };
  const sender = { agent, address: agent, role };
  return {
    sent,
    caller: { sender, consumer, limits: defaultLimits, isConnected: true } as unknown as Caller,
  };
}

/** Lanes to the orchestrator, which takes calls. */
function lanesTo(orchestrator: Caller, tail: Pick<Tail, 'isOn'>): Lanes {
  let secrets = 0;
  const lanes = new Lanes({
    holderOf: () => orchestrator.consumer,
    isLive: () => true,
    tail: tail as Tail,
    newSecret: () => String(secrets++),
    monotonic: () => 0,
  });
  lanes.serve(orchestrator, '/orchestrator.sock');
  return lanes;
}

test('An orchestrator is told that somebody watches before its first lane.', () => {
  const orchestrator = caller('orchestrator', 'orchestrator');
  lanesTo(orchestrator.caller, { isOn: true }).open(caller('rosa', 'worker').caller, 'orchestrator');
  expect(orchestrator.sent).toMatchObject([{ type: 'lanes', watched: true }, { type: 'lane' }]);
});

test('Calls that were begun before the end of a lane count towards the rate of its worker, and no others.', () => {
  const orchestrator = caller('orchestrator', 'orchestrator');
  const lanes = lanesTo(orchestrator.caller, { isOn: false });
  const counted: number[] = [];
  const budget = { countMessages: (calls: number) => counted.push(calls) };
  const worker = { ...caller('rosa', 'worker').caller, budget } as unknown as Caller;
  const report = (of: Caller) => lanes.report(of, { begun: [{ lane: '0', calls: 5 }] });
  lanes.open(worker, 'orchestrator');
  // A worker that opens another lane leaves the one before.
  lanes.open(worker, 'orchestrator');
  report(caller('other', 'orchestrator').caller);
  expect(counted).toEqual([]);
  report(orchestrator.caller);
  lanes.beat();
  report(orchestrator.caller);
  expect(counted).toEqual([5, 5]);
  lanes.beat();
  report(orchestrator.caller);
  expect(counted).toEqual([5, 5]);
});

test('The lanes of an orchestrator end with its connection, also if it takes no more lanes by then.', () => {
  const orchestrator = caller('orchestrator', 'orchestrator');
  const worker = caller('rosa', 'worker');
  const lanes = lanesTo(orchestrator.caller, { isOn: false });
  lanes.open(worker.caller, 'orchestrator');
  expect(lanes.has(worker.caller)).toBe(true);
  lanes.serve(orchestrator.caller, undefined);
  lanes.left(orchestrator.caller);
  expect(lanes.has(worker.caller)).toBe(false);
  lanes.beat();
  expect(orchestrator.sent.map(({ type }) => type)).toEqual(['lane']);
});

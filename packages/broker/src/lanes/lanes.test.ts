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

test('The lanes of an orchestrator end with its connection, also if it takes no more lanes by then.', () => {
  const orchestrator = caller('orchestrator', 'orchestrator');
  const worker = caller('rosa', 'worker');
  let secrets = 0;
  const lanes = new Lanes({
    holderOf: () => orchestrator.caller.consumer,
    isLive: () => true,
    tail: { isOn: false } as Tail,
    newSecret: () => String(secrets++),
    monotonic: () => 0,
  });
  lanes.serve(orchestrator.caller, '/orchestrator.sock');
  lanes.open(worker.caller, 'orchestrator');
  expect(lanes.has(worker.caller)).toBe(true);
  lanes.serve(orchestrator.caller, undefined);
  lanes.left(orchestrator.caller);
  expect(lanes.has(worker.caller)).toBe(false);
  lanes.beat();
  expect(orchestrator.sent.map(({ type }) => type)).toEqual(['lane']);
});

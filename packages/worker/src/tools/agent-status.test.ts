import { expect, test } from 'vitest';
import { createAgentStatus } from './agent-status.ts';

function recorded() {
  const told: unknown[] = [];
  let time = 100;
  const status = createAgentStatus((one) => told.push(one), { now: () => time++ });
  return { told, status, last: () => told.at(-1) };
}

const idle = { worker: 'mcp', state: 'idle', calls: 0, listed: false };

test('an agent is announced at once, again when it first lists the tools, and not with each list', () => {
  const { told, status } = recorded();
  expect(told).toEqual([idle]);
  status.listed({ name: 'claude-code', version: '2.1' });
  status.listed({ name: 'claude-code', version: '2.1' });
  status.listed(undefined);
  expect(told).toEqual([idle, { ...idle, listed: true, client: 'claude-code 2.1' }]);
});

test('calls of several connections add up; the agent is idle when the last has ended', () => {
  const { status, last } = recorded();
  const ends = ['a', 'b'].map((tool) => status.callStarted(tool));
  expect(last()).toEqual({ ...idle, state: 'working', calls: 2, last_call_at: 101 });
  ends[0]!();
  expect(last()).toMatchObject({ state: 'working', calls: 1 });
  ends[1]!();
  expect(last()).toEqual({ ...idle, last_call_at: 103 });
});

test('an agent that waits for mail is not at work', () => {
  const { told, status } = recorded();
  status.callStarted('signalbox_inbox_wait')();
  expect(told).toHaveLength(1);
  status.callStarted('signalbox_inbox_read')();
  expect(told).toHaveLength(3);
});

test('the name of a client cannot make the status too long for the broker', () => {
  const { status, last } = recorded();
  status.listed({ name: '\u0001'.repeat(5000), version: '1' });
  expect(JSON.stringify(last()).length).toBeLessThan(2048);
});

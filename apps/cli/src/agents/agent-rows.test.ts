import type { ConnectedAgent } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { agentTable } from './agent-rows.ts';

const now = 1_000_000;

function connection(address: string, change: Partial<ConnectedAgent> = {}): ConnectedAgent {
  return { agent: address.split('#')[0]!, address, role: 'worker', connected_at: now - 30_000, ...change };
}

const face = { worker: 'mcp', state: 'idle', calls: 0, listed: true };

function agentRows(...of: Parameters<typeof agentTable>): string[][] {
  return agentTable(...of).rows;
}

/** The columns STATE, CLIENT and LAST OUTPUT. */
function shownStatus(status: unknown) {
  const [row] = agentRows([connection('a', { status })], [], now);
  return [row![2], ...row!.slice(5)];
}

test('The connections of an agent are one row: its calls add up, and the oldest says for how long.', () => {
  const inbox = { unread: 4, held: 2 };
  const rows = agentRows(
    [
      connection('walt'),
      connection('rosa#mcp-1', { inbox, status: { ...face, calls: 2, client: 'claude-code 2.1.0' } }),
      connection('rosa#run-1', {
        inbox,
        connected_at: now - 60_000,
        status: {
          worker: 'run',
          command: 'claude',
          last_output_at: now - 5000,
          last_output: 'compiling\nmore',
        },
      }),
      connection('rosa#mcp-2', { inbox, status: { ...face, calls: 1, client: 'claude-code 2.1.0' } }),
    ],
    [],
    now,
  );
  expect(rows).toEqual([
    [
      'rosa',
      'worker',
      'working 3',
      '60 s',
      '4 (2 handed out)',
      'claude-code 2.1.0',
      '5 s ago: compiling more',
    ],
    ['walt', 'worker', 'connected', '30 s', '?', '-', '-'],
  ]);
});

test('Before its client is connected, an agent is idle under the command that was started; an echo worker is working or idle.', () => {
  const run = { worker: 'run', command: 'codex' };
  expect(shownStatus(run)).toEqual(['idle', 'codex', '-']);
  expect(shownStatus(face)).toEqual(['idle', '-', '-']);
  expect(shownStatus({ worker: 'echo', state: 'working' })).toEqual(['working 1', 'echo', '-']);
  expect(shownStatus({ worker: 'echo', state: 'idle' })).toEqual(['idle', 'echo', '-']);
});

test('An agent that lost its tools is not idle.', () => {
  expect(shownStatus({ worker: 'run', command: 'codex', tools_lost: true })).toEqual([
    'tools lost',
    'codex',
    '-',
  ]);
});

test('A served agent says how many processes it keeps, also while it works and a person is asked.', () => {
  const served = { worker: 'serve', command: 'gemini', turns: 0, kept: 2 };
  expect(shownStatus(served)[0]).toBe('idle, 2 kept');
  expect(shownStatus({ ...served, turns: 1, asking: 1 })[0]).toBe('working 1, waits for a person, 2 kept');
});

test('The status of another program is shown as it is, and cannot steer the terminal.', () => {
  expect(shownStatus({ worker: 'mcp', calls: 'many' })).toEqual([
    'connected',
    '-',
    '{"worker":"mcp","calls":"many"}',
  ]);
  expect(shownStatus('\x1b[2J busy')).toEqual(['connected', '-', '\\x1b[2J busy']);
  expect(shownStatus({ ...face, client: '\x1b[31m' })[1]).toBe('\x1b[31m');
});

test('An agent that is offline and has mail has a row among the others, with its roles; one that has come meanwhile has one row.', () => {
  const waiting = { roles: ['worker'], connected: false, pending: 3, oldest_at: now - 7_200_000 };
  const offline = [
    { ...waiting, agent: 'nemo' },
    { ...waiting, agent: 'paul' },
    { ...waiting, agent: 'zoe', roles: [] },
  ];
  expect(agentRows([connection('paul', { inbox: { unread: 3, held: 0 } })], offline, now)).toEqual([
    ['nemo', 'worker', 'offline', '-', '3 (2 h)', '-', '-'],
    ['paul', 'worker', 'connected', '30 s', '3', '-', '-'],
    ['zoe', 'no token', 'offline', '-', '3 (2 h)', '-', '-'],
  ]);
  const numbered = agentRows([connection('w-10'), connection('w-9')], [{ ...waiting, agent: 'w-2' }], now);
  expect(numbered.map(([agent]) => agent)).toEqual(['w-2', 'w-9', 'w-10']);
});

test('An agent that is offline and held shows both, also if the hold is on its role.', () => {
  const waiting = { connected: false, pending: 1, oldest_at: now };
  const offline = [
    { ...waiting, agent: 'nemo', roles: ['worker'] },
    { ...waiting, agent: 'paul', roles: ['builder'] },
    { ...waiting, agent: 'role:builder', roles: ['builder'] },
    { ...waiting, agent: 'zoe', roles: ['worker'] },
  ];
  const hold = { id: 'h', reason: 'lunch', by: 'operator', token_id: 't', created_at: 0 };
  const holds = [
    { ...hold, on: 'agent' as const, name: 'nemo' },
    { ...hold, on: 'role' as const, name: 'builder' },
  ];
  const states = agentRows([], offline, now, [], holds).map(([agent, , state]) => [agent, state]);
  expect(states).toEqual([
    ['nemo', 'held, offline'],
    ['paul', 'held, offline'],
    ['role:builder', 'group'],
    ['zoe', 'offline'],
  ]);
});

test('A group with mail is a row of its own, with the roles of its members.', () => {
  const waiting = { connected: false, pending: 3, oldest_at: now - 60_000 };
  const rows = agentRows(
    [],
    [
      { agent: 'role:writer', roles: ['writer'], ...waiting },
      { agent: 'group:gone', roles: [], ...waiting },
    ],
    now,
  );
  expect(rows).toEqual([
    ['group:gone', 'no role', 'group', '-', '3 (60 s)', '-', '-'],
    ['role:writer', 'writer', 'group', '-', '3 (60 s)', '-', '-'],
  ]);
});

test('An agent that an operator holds is shown as held.', () => {
  const [row] = agentRows(
    [connection('rosa', { on_hold: 'operator holds everything', status: face })],
    [],
    now,
  );
  expect(row?.[2]).toBe('held, idle');
});

test('Where several brokers share the store, the table says through which an agent is connected.', () => {
  const inbox = { unread: 3 };
  const connections = [
    connection('rosa#1', { broker: 'one', inbox }),
    connection('rosa#2', { broker: 'other', inbox }),
    connection('walt', { broker: 'one' }),
  ];
  const offline = [{ agent: 'zoe', roles: ['worker'], connected: false, pending: 1, oldest_at: now }];
  const { headings, rows } = agentTable(connections, offline, now);
  expect(headings.at(5)).toBe('BROKER');
  expect(rows.map((row) => [row[0], row[4], row[5]])).toEqual([
    ['rosa', '3', 'one, other'],
    ['walt', '?', 'one'],
    ['zoe', '1 (0 s)', '-'],
  ]);
  expect(agentTable([connection('walt')], [], now).headings).not.toContain('BROKER');
});

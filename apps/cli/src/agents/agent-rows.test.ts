import type { ConnectedAgent } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { agentRows } from './agent-rows.ts';

const now = 1_000_000;

function connection(address: string, change: Partial<ConnectedAgent> = {}): ConnectedAgent {
  return { agent: address.split('#')[0]!, address, role: 'worker', connected_at: now - 30_000, ...change };
}

const face = { worker: 'mcp', state: 'idle', calls: 0, listed: true };

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
    now,
  );
  expect(rows).toEqual([
    ['rosa', 'worker', 'working 3', 'claude-code 2.1.0', '5 s ago: compiling more', '4', '2', '60 s'],
    ['walt', 'worker', 'connected', '-', '-', '-', '-', '30 s'],
  ]);
});

test('Before its client is connected, an agent is idle under the command that was started; an echo worker is working or idle.', () => {
  const run = { worker: 'run', command: 'codex' };
  const cells = (status: unknown) => agentRows([connection('a', { status })], now)[0]!.slice(2, 5);
  expect(cells(run)).toEqual(['idle', 'codex', '-']);
  expect(cells(face)).toEqual(['idle', '-', '-']);
  expect(cells({ worker: 'echo', state: 'working' })).toEqual(['working 1', 'echo', '-']);
  expect(cells({ worker: 'echo', state: 'idle' })).toEqual(['idle', 'echo', '-']);
});

test('The status of another program is shown as it is, and cannot steer the terminal.', () => {
  const cells = (status: unknown) => agentRows([connection('a', { status })], now)[0]!.slice(2, 5);
  expect(cells({ worker: 'mcp', calls: 'many' })).toEqual([
    'connected',
    '-',
    '{"worker":"mcp","calls":"many"}',
  ]);
  expect(cells('\x1b[2J busy')).toEqual(['connected', '-', '\\x1b[2J busy']);
  expect(cells({ ...face, client: '\x1b[31m' })[1]).toBe('\x1b[31m');
});

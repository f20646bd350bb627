import { expect, test } from 'vitest';
import { degradations } from './degradations.ts';
import type { LocatedStatus } from './status-lines.ts';
import { statusLines } from './status-lines.ts';

const now = 1_000_000_000;
const standing = {
  ...{ id: '7mXk2hQ9bT4nRe', on: 'all' as const, by: 'operator', token_id: 't1' },
  ...{ created_at: now - 60_000, reason: 'incident 12' },
};
const hold = { from: now - 900_000, to: now, at_start: false, left_ms: 120_000, requests: 0, messages: 0 };

function status(change: Partial<LocatedStatus> = {}): LocatedStatus {
  return {
    url: 'unix:/state/broker.sock',
    broker: {
      version: '0.1.0',
      started_at: now - 7_200_000,
      connections: 3,
      leases: 2,
      pending: 4,
      oldest_pending_at: now - 600_000,
      dead_letters: 1,
      scheduled: 7,
      used_bytes: 1536,
      max_bytes: 1024 ** 3,
      disk_bytes: 4 * 1024 ** 2,
      free_bytes: 3 * 1024 ** 3,
      receipt_means: 'fsynced',
      activity: {
        stored: 0,
        delivered: 0,
        redelivered: 0,
        settled: 0,
        commits: { count: 0, sum_ms: 0 },
        syncs: { count: 0, sum_ms: 0 },
      },
    },
    hold: undefined,
    holds: [],
    questions: [],
    failed: [],
    agents: { connected: 2, withMail: 1, offlineWithMail: 3 },
    failing: [],
    orchestrator: of(server('files', {})),
    ...change,
  };
}

type Server = LocatedStatus['orchestrator']['servers'][number];

function server(name: string, change: Partial<Server>): Server {
  return {
    ...{ name, state: 'ready', transport: 'stdio', share: 'all', lazy: false, instances: 1, pids: [] },
    ...{ restarts: 0, tool_count: 14, tool_problems: [], in_flight: 2, waiting: 1, consecutive_failures: 0 },
    ...{ circuit: 'closed', cache_entries: 0, cache_hits: 0, calls: 0, stderr_tail: '' },
    ...change,
  } as Server;
}

test('A status in which all is fine says so, and where what is.', () => {
  expect(degradations(status(), now)).toEqual([]);
  expect(statusLines(status(), [], now)).toEqual([
    'broker        unix:/state/broker.sock, up for 2 h, version 0.1.0, receipts: fsynced',
    'orchestrator  ready: 2 calls running, 1 waiting',
    'servers       1 of 1 ready, 14 tools',
    'approvals     no tool call waits for a person',
    'holds         nobody and nothing is held',
    'agents        2 connected, 1 of them with mail; 3 offline with mail',
    'mail          4 waiting, the oldest for 10 min; 7 for later; 1 dead letter',
    'space         1.5 KiB of 1.0 GiB used, 4.0 MiB on disk, 3.0 GiB free there',
    'clock         trusted',
    '',
    'SERVER  STATE  TOOLS  LAST ERROR',
    'files   ready  14     -',
    '',
    'all is fine',
  ]);
});

test.each<[string, Partial<LocatedStatus>, string]>([
  [
    'a server that was ejected',
    { orchestrator: of(server('a', { state: 'ejected' })) },
    'server a failed and is not started again',
  ],
  ['an open circuit', { orchestrator: of(server('a', { circuit: 'open' })) }, 'server a gets no calls'],
  [
    'an orchestrator that is not there',
    { orchestrator: { ...of(), state: 'not_connected' } },
    "no orchestrator named 'tools-1' is connected",
  ],
  ['a clock that leapt', { hold }, 'does not trust its clock for another 2 min'],
  [
    'a damaged hold',
    { holds: [{ ...standing, damaged: true as const }] },
    'the record of a hold is damaged, so that everything is held',
  ],
  ['a full store', { broker: { ...status().broker, used_bytes: 0.95 * 1024 ** 3 } }, 'store is nearly full'],
  [
    'a failing program',
    { failing: [{ agent: 'rosa', since: now - 300_000, reason: 'exit code 1: no key' }] },
    'the program of rosa has failed for 5 min, and its mail waits (exit code 1: no key): signalbox ps',
  ],
  ['a full disk', { broker: { ...status().broker, free_bytes: 1024 } }, 'the disk'],
])('A status with %s is degraded.', (_, change, text) => {
  expect(degradations(status(change), now)).toEqual([expect.stringContaining(text)]);
});

test('A broker that was down for a while is as it should be, unless it holds something back because of that.', () => {
  const quiet = status({ hold: { ...hold, at_start: true } });
  expect(degradations(quiet, now)).toEqual([]);
  expect(statusLines(quiet, [], now).join('\n')).toContain('found 15 min ahead at the start');
  const holding = status({ hold: { ...hold, at_start: true, messages: 1 } });
  expect(degradations(holding, now)).toHaveLength(1);
});

test('A status counts the calls and questions that wait for a person and those that are held, which is no degradation.', () => {
  const waiting = {
    ...of(),
    approvals: { waiting: 2, oldest_at: now - 300_000, deadline_at: now + 1_200_000 },
    calls_held: 1,
  };
  const waits = status({ orchestrator: waiting, holds: [standing] });
  expect(degradations(waits, now)).toEqual([]);
  const lines = statusLines({ ...waits, questions: [{ asked: 'operator', waiting: 1, own: true }] }, [], now);
  expect(lines).toContain('questions     1 question waits: signalbox inbox');
  expect(lines).toContain(
    'approvals     2 tool calls wait for a person, the oldest for 5 min, the first ends in 20 min: signalbox approvals',
  );
  expect(lines).toContain('holds         1 hold, 1 tool call waits for the release: signalbox holds');
  const silent = status({ orchestrator: { name: 'tools-1', state: 'silent', servers: [] } });
  expect(statusLines(silent, [], now)).toContain('approvals     not known while no orchestrator answers');
});

test('Servers that wait for their first call are as they should be, and those that start or were stopped are not ready yet.', () => {
  const states = ['idle', 'disabled', 'queued', 'starting', 'stopped'] as const;
  const servers = states.map((state) => server(state, { state, lazy: true, tool_count: 0 }));
  const seen = status({ orchestrator: of(...servers) });
  expect(degradations(seen, now)).toEqual([
    'server queued waits for its start: signalbox servers show queued',
    'server starting is being started: signalbox servers show starting',
    'server stopped was stopped by an operator: signalbox servers show stopped',
  ]);
  expect(statusLines(seen, [], now)).toContain(
    'servers       0 of 5 ready, 1 at the first call, 1 disabled, 0 tools',
  );
});

test('Changes that wait for a restart are named.', () => {
  const restart_needed = { since: now - 60_000, keys: ['a2a', 'broker.listen'] };
  expect(degradations(status({ orchestrator: { ...of(), restart_needed } }), now)).toEqual([
    'changes of the configuration have waited for a restart for 60 s (a2a, broker.listen): signalbox down, and then up as before',
  ]);
});

test('A configuration that was refused is named until it is mended, besides other problems of the orchestrator.', () => {
  const config_problem = { since: now - 60_000, reason: 'signalbox.yaml:3: roles: a key' };
  const kept_results = { results: 0, bytes: 0, max_results: 1, max_bytes: 1, problem: 'ENOSPC' };
  const seen = status({ orchestrator: { ...of(), config_problem, kept_results } });
  expect(degradations(seen, now)).toEqual([
    'a large result was not kept for its agent (ENOSPC): see the log of the orchestrator',
    'the configuration has had mistakes for 60 s, and what was in force before stays (signalbox.yaml:3: roles: a key): signalbox config check',
  ]);
});

function of(...servers: Server[]): LocatedStatus['orchestrator'] {
  return { name: 'tools-1', state: 'ready', servers, approvals: { waiting: 0 }, calls_held: 0 };
}

test('Where several brokers share the store, a status lists those that live, and which one keeps house, and to which one there is no link.', () => {
  const { broker } = status();
  const brokers = [
    { name: 'one', since: now - 7_200_000 },
    { name: 'other', since: now - 60_000 },
    { name: 'third', since: now - 60_000, linked: false },
    { name: 'fourth', since: now - 60_000, linked: true },
  ];
  const lines = statusLines(status({ broker: { ...broker, broker: 'other', brokers } }), [], now);
  expect(lines).toContain(
    'brokers       one (keeps house) for 2 h; other (this one) for 60 s; third (no link) for 60 s; fourth for 60 s',
  );
  expect(statusLines(status(), [], now).join()).not.toContain('keeps house');
});

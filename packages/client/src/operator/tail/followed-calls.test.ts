import type { CallRecord, TailNotice } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { FollowedCalls } from './followed-calls.ts';

const from = { agent: 'rosa', address: 'rosa#x', role: 'researcher' };

function stored(kind: string, id: string, at: number, correlation?: string): TailNotice {
  const about = correlation === undefined ? {} : { correlation_id: correlation };
  return {
    what: 'stored',
    at,
    message: { id, seq: 1, from, to: 'orchestrator', kind, created_at: at, ...about },
  };
}

function record(requestId: string, state: CallRecord['state']): CallRecord {
  const who = { agent: 'rosa', role: 'researcher', tool: 'mcp_a__b' };
  return { request_id: requestId, ...who, state, received_at: 5 };
}

test('A call is shown once in each state, and only if its request was seen.', () => {
  const calls = new FollowedCalls();
  expect(calls.since).toBeUndefined();
  expect(calls.observe(stored('mcp_request', 'r1', 10))).toBe(true);
  expect(calls.observe(stored('mcp_request', 'r2', 20))).toBe(true);
  expect(calls.since).toBe(10);
  const running = [record('r1', 'running'), record('r2', 'queued'), record('unknown', 'running')];
  expect(calls.changed(running)).toEqual(running.slice(0, 2));
  expect(calls.changed(running)).toEqual([]);
  expect(calls.changed([record('r1', 'finished')])).toEqual([record('r1', 'finished')]);
});

test('Other messages are no calls, nor are replies to requests that were not seen.', () => {
  const calls = new FollowedCalls();
  expect(calls.observe(stored('ask', 'q', 10))).toBe(false);
  expect(calls.observe(stored('mcp_reply', 're:old', 10, 'old'))).toBe(false);
  expect(calls.observe({ what: 'missed', at: 10, missed: 3 })).toBe(false);
  expect(calls.since).toBeUndefined();
});

test('Waiting calls are asked about again; answered calls are forgotten.', () => {
  const calls = new FollowedCalls();
  calls.observe(stored('mcp_request', 'r1', 10));
  expect(calls.someAreQueued).toBe(true);
  calls.changed([record('r1', 'queued')]);
  expect(calls.someAreQueued).toBe(true);
  calls.changed([record('r1', 'running')]);
  expect(calls.someAreQueued).toBe(false);
  expect(calls.answered()).toEqual([]);
  expect(calls.observe(stored('mcp_reply', 're:r1', 30, 'r1'))).toBe(true);
  expect(calls.answered()).toEqual(['r1']);
  calls.forget(['r1']);
  expect(calls.since).toBeUndefined();
});

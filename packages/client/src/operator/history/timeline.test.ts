import type { CallRecord } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import type { HistoryMessage } from './history.ts';
import { timelineOf } from './timeline.ts';

function message(id: string, at: number, correlation?: string): HistoryMessage {
  return {
    seq: at,
    inbox: 'writer-1',
    id,
    from_agent: 'researcher-1',
    kind: correlation === undefined ? 'ask' : 'reply',
    created_at: at,
    size: 1,
    ...(correlation !== undefined && { correlation_id: correlation }),
  };
}

function call(requestId: string, at: number): CallRecord {
  return {
    request_id: requestId,
    agent: 'researcher-1',
    role: 'researcher',
    tool: 'mcp_a__b',
    state: 'running',
    received_at: at,
  };
}

function shape(groups: ReturnType<typeof timelineOf>): unknown {
  return groups.map(({ correlation_id, entries }) => [
    correlation_id,
    ...entries.map((entry) => (entry.what === 'call' ? 'call' : entry.id)),
  ]);
}

test('A request, its call and its answer stand together, and groups stand in the order in which they began.', () => {
  const messages = [message('r2', 20), message('re:r1', 40, 'r1'), message('r1', 10), message('n1', 15)];
  expect(shape(timelineOf(messages, [call('r2', 30), call('r1', 12)]))).toEqual([
    ['r1', 'r1', 'call', 're:r1'],
    ['n1', 'n1'],
    ['r2', 'r2', 'call'],
  ]);
});

test('Within one millisecond the request stands before its call, and the call before the answer.', () => {
  const messages = [message('re:r1', 10, 'r1'), message('r1', 10)];
  expect(shape(timelineOf(messages, [call('r1', 10)]))).toEqual([['r1', 'r1', 'call', 're:r1']]);
});

test('The approval of a call stands behind it, before the answer.', () => {
  const messages = [message('r1', 10), message('re:r1', 90, 'r1')];
  const approval = {
    id: 'k7f3mz',
    state: 'approved' as const,
    request_id: 'r1',
    agent: 'researcher-1',
    role: 'researcher',
    tool: 'mcp_a__b',
    rule: 'roles.researcher.ask[0]',
    created_at: 10,
    deadline_at: 100,
  };
  expect(shape(timelineOf(messages, [call('r1', 10)], [approval]))).toEqual([
    ['r1', 'r1', 'call', 'k7f3mz', 're:r1'],
  ]);
});

test('A call whose messages are beyond the time asked for is a group of its own.', () => {
  expect(shape(timelineOf([], [call('old', 10)]))).toEqual([['old', 'call']]);
});

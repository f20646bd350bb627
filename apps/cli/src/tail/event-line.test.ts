import { expect, test } from 'vitest';
import { eventLine } from './event-line.ts';

const at = Date.parse('2026-11-20T10:20:30.456Z');
const from = { agent: 'rosa', address: 'rosa#mcp-V1StGXR8abcd', role: 'researcher' };
const message = {
  id: '0YpfVQ1kJ3nT5dLx8Zq2A',
  seq: 7,
  from,
  to: 'walt',
  kind: 'ask',
  created_at: at - 1500,
  size: 2048,
};

test('A line says when, what happened, between whom, and which message it was.', () => {
  const about = 'rosa#…GXR8abcd → walt  ask  …dLx8Zq2A';
  expect([
    eventLine({ what: 'stored', at, message }),
    eventLine({ what: 'stored', at, message: { ...message, correlation_id: 'q1', size: 5 } }),
    eventLine({ what: 'delivered', at, message, attempt: 1 }),
    eventLine({ what: 'delivered', at, message, attempt: 3 }),
    eventLine({ what: 'settled', at, message, outcome: 'acked' }),
    eventLine({ what: 'settled', at, message, outcome: 'dead', reason: 'no\nuse' }),
  ]).toEqual([
    `10:20:30.456Z  stored     ${about}  2.0 KiB`,
    `10:20:30.456Z  stored     ${about}  5 B  answers q1`,
    `10:20:30.456Z  delivered  ${about}`,
    `10:20:30.456Z  delivered  ${about}  attempt 3`,
    `10:20:30.456Z  acked      ${about}  after 1.5 s`,
    `10:20:30.456Z  dead       ${about}  after 1.5 s  no use`,
  ]);
});

test('A call has its tool’s name, and how long it took once it has ended.', () => {
  const call = {
    request_id: 'r1',
    ...{ agent: 'rosa', role: 'researcher', tool: 'mcp_a__b' },
    ...{ received_at: at, started_at: at },
  };
  expect([
    eventLine({ what: 'call', at, call: { ...call, state: 'running' } }),
    eventLine({
      what: 'call',
      at,
      call: { ...call, state: 'finished', finished_at: at + 12, outcome: 'ok' },
    }),
  ]).toEqual([
    '10:20:30.456Z  call       rosa  a:b  running  r1',
    '10:20:30.456Z  call       rosa  a:b  ok after 12 ms  r1',
  ]);
});

test('No name makes a second line, or looks like further columns.', () => {
  const tool = 'x\n10:20:31.000Z  call  walt  pay  ok\u2028\u{e0041}';
  const line = eventLine({
    what: 'call',
    at,
    call: { request_id: 'r1', agent: 'rosa', role: 'r', tool, state: 'queued', received_at: at },
  });
  expect(line).toBe(
    '10:20:30.456Z  call       rosa  x\\x0a10:20:31.000Z \\u0020call \\u0020walt \\u0020pay \\u0020ok\\u2028\\u{e0041}  queued  r1',
  );
});

test('A line tells of refusals by their code, of holds by who holds what and why, of lost events by their number, and of the broker when it is gone.', () => {
  const refused = { from, code: 'forbidden', detail: 'role may not', id: 'm1' };
  expect(eventLine({ what: 'refused', at, refused })).toContain(
    'rosa#…GXR8abcd  forbidden: role may not  m1',
  );
  const by = { by: 'ann', token_id: 't', created_at: at, reason: 'look\n\u202eat it' };
  const hold = { id: 'k7', on: 'agent' as const, name: 'rosa', ...by };
  expect(eventLine({ what: 'hold_placed', at, hold })).toMatch(
    /held {7}ann holds agent 'rosa' since \S+: look \\u202eat it \(hold k7\)$/,
  );
  expect(eventLine({ what: 'hold_ended', at, hold })).toContain("hold over  agent 'rosa' (hold k7)");
  expect(eventLine({ what: 'missed', at, missed: 12 })).toContain('missed     12 events');
  expect(eventLine({ what: 'gap', at, broker: 'two' })).toContain('the broker two is gone or was silent');
  expect(eventLine({ what: 'disconnected', at })).toContain('the broker is gone');
  expect(eventLine({ what: 'reconnected', at })).toContain('what happened meanwhile is missing');
  expect(eventLine({ what: 'calls_missing', at, code: 'no_consumer', message: 'none there' })).toContain(
    'tool calls are not shown by name: none there',
  );
});

test('A line tells which turns of a served agent run, and a private status of another program as it is.', () => {
  const turn = { id: 'm1', from: 'walt', kind: 'ask', since: at - 3000 };
  const calls = [{ title: 'make', status: 'pending' }];
  const announced = { what: 'announced' as const, at, from };
  expect([
    eventLine({ ...announced, private: { running: [{ ...turn, calls }, turn] } }),
    eventLine({ ...announced, private: { running: [] } }),
    eventLine({ ...announced, private: { step: 3 } }),
    eventLine(announced),
  ]).toEqual([
    '10:20:30.456Z  turns      rosa  ask m1 of walt, for 3 s: [pending] make; ask m1 of walt, for 3 s',
    '10:20:30.456Z  turns      rosa  none runs',
    '10:20:30.456Z  status     rosa  {"step":3}',
    '10:20:30.456Z  status     rosa  -',
  ]);
});

import { describe, expect, it } from 'vitest';
import { sampledMetrics } from '../samples.ts';
import { parseAdminParams, parseAdminResult } from './parse-admin.ts';

describe('The parameters of an operation', () => {
  it('are read, and unknown ones are dropped', () => {
    expect(parseAdminParams('dead_list', { inbox: 'bob', other: 1 })).toEqual({ params: { inbox: 'bob' } });
    expect(parseAdminParams('stats', { other: 1 })).toEqual({ params: {} });
  });

  it.each([
    ['dead_list', { limit: 1001 }, 'limit', "field 'params.limit' must be a whole number from 1 to 1000"],
    ['dead_list', { after: null }, 'after', "field 'params.after' must be a whole number from 0"],
    ['dead_list', { inbox: 7 }, 'inbox', "field 'params.inbox' must be a text of at most 256 characters"],
    [
      'samples',
      { last_ms: 1000, of: [{ metric: 'up' }] },
      'of.metric',
      `field 'params.of.0.metric' must be one of ${sampledMetrics.broker.join(', ')}`,
    ],
    [
      'samples',
      { last_ms: 1, of: [] },
      'last_ms',
      "field 'params.last_ms' must be a whole number from 1000 to 86400000",
    ],
    [
      'samples',
      { last_ms: 1000, of: [] },
      'of',
      "field 'params.of' must be a list of 1 to 8 sampled metrics",
    ],
    ['dead_drop', {}, 'seqs', "field 'params.seqs' must be a list of 1 to 1000 sequence numbers"],
    [
      'dead_drop',
      { seqs: [1, 0] },
      'seqs',
      "field 'params.seqs.1' must be a sequence number, a whole number from 1",
    ],
    ['token_issue', { role: 'a' }, 'agent', "field 'params.agent' must be an agent id"],
    [
      'token_issue',
      { agent: 'a', role: 'A' },
      'role',
      "field 'params.role' must be a role: [a-z0-9][a-z0-9_.-]*",
    ],
    [
      'token_issue',
      { agent: 'a', role: 'a', ttl_ms: Number.MAX_SAFE_INTEGER },
      'ttl_ms',
      "field 'params.ttl_ms' must be a whole number of milliseconds from 1 to 3153600000000",
    ],
    [
      'hold',
      { on: 'all', reason: 'x', for_ms: Number.MAX_SAFE_INTEGER },
      'for_ms',
      "field 'params.for_ms' must be a whole number from 1 to 3153600000000",
    ],
    [
      'hold',
      { on: 'all', reason: 'x', until: Number.MAX_SAFE_INTEGER },
      'until',
      "field 'params.until' must be a whole number from 1 to 8640000000000000",
    ],
    ['token_revoke', {}, 'id', "field 'params.id' must be a token's id"],
    [
      'token_revoke',
      { id: 'a', exited: [] },
      'exited',
      "field 'params.exited' must be an object with code and signal, and perhaps tell",
    ],
    [
      'token_revoke',
      { id: 'a', exited: { tell: 'b', signal: null } },
      'exited.code',
      "field 'params.exited.code' must be a whole number, or null",
    ],
    ['tail', { on: 1 }, 'on', "field 'params.on' must be true or false"],
  ] as const)('of %s that break a rule are refused by name: %j', (op, params, field, message) => {
    const refusal = { code: 'bad_frame', field: `params.${field}`, message };
    expect(parseAdminParams(op, params)).toEqual({ refusal });
  });
});

describe('The result of an operation', () => {
  it('is read without the fields that a newer broker adds', () => {
    expect(parseAdminResult('tail', { on: true, newer: 1 })).toEqual({ on: true });
  });

  it('that has another form is an error that names the field', () => {
    const read = () => parseAdminResult('dead_list', { messages: [{ seq: 'x' }], more: false });
    expect(read).toThrow("the broker's answer to 'dead_list' can't be read: field 'result.messages.0.seq'");
  });
});

import type { TailEvent } from '@signalbox/client/operator';
import { expect, test } from 'vitest';
import { BriefTail } from './brief-tail.ts';

const at = 1_000;
const from = { agent: 'rosa', address: 'rosa', role: 'researcher' };
const request = { id: 'r1', seq: 1, from, to: 'orchestrator', kind: 'mcp_request' } as const;
const reply = { id: 'r2', seq: 2, from, to: 'rosa#mcp-1', kind: 'mcp_reply', correlation_id: 'r1' } as const;
const note = { ...request, id: 'n1', kind: 'note' } as const;
const record = { request_id: 'r1', agent: 'rosa', role: 'researcher', tool: 'mcp_a__b', received_at: at };

const lifeOfACall: TailEvent[] = [
  { what: 'stored', at, message: request },
  { what: 'delivered', at, message: request, attempt: 1 },
  { what: 'call', at, call: { ...record, state: 'running' } },
  { what: 'stored', at, message: reply },
  { what: 'settled', at, message: request, outcome: 'acked' },
  { what: 'delivered', at, message: reply, attempt: 1 },
  { what: 'settled', at, message: reply, outcome: 'acked' },
  { what: 'call', at, call: { ...record, state: 'finished', outcome: 'ok' } },
];

const shown = (brief: BriefTail, events: readonly TailEvent[]) =>
  events.filter((event) => brief.isShown(event));

test('A call is one line, at its end; a message between agents has all of its lines.', () => {
  expect(shown(new BriefTail(), lifeOfACall)).toEqual([lifeOfACall.at(-1)]);
  const events: TailEvent[] = [
    { what: 'stored', at, message: note },
    { what: 'delivered', at, message: note, attempt: 1 },
    { what: 'settled', at, message: note, outcome: 'acked' },
  ];
  expect(shown(new BriefTail(), events)).toEqual(events);
});

test('A request that nobody answered shows how it ended.', () => {
  const expired: TailEvent = { what: 'settled', at, message: request, outcome: 'expired' };
  expect(shown(new BriefTail(), [expired])).toEqual([expired]);
});

test('While calls cannot be asked for, their messages are shown, until one is named again.', () => {
  const brief = new BriefTail();
  const missing: TailEvent = { what: 'calls_missing', at, code: 'unreachable', message: 'none' };
  expect(shown(brief, [missing, lifeOfACall[0]!])).toHaveLength(2);
  expect(shown(brief, lifeOfACall.slice(2))).toEqual([lifeOfACall.at(-1)]);
});

import type { ClientState } from '@signalbox/client';
import type { WithheldHints } from '@signalbox/mcp-host';
import { frameLimits, SignalboxError } from '@signalbox/protocol';
import { expect, it } from 'vitest';
import { auditWithheldHints } from './withheld-hints.ts';

/** A broker connection and a host that do what the test says. */
function ports() {
  const sent: string[] = [];
  const logged: string[] = [];
  let state: ClientState = { name: 'ready' };
  let failure: SignalboxError | undefined;
  let onState = (_state: ClientState) => {};
  let onHints = (_hints: WithheldHints[]) => {};
  const client = {
    get state() {
      return state;
    },
    onState(listener: typeof onState) {
      onState = listener;
      return () => {};
    },
    async audit(_code: string, detail: string) {
      sent.push(detail);
      if (failure) throw failure;
    },
  };
  const host = {
    onHintsWithheld(listener: typeof onHints) {
      onHints = listener;
      return () => {};
    },
  };
  auditWithheldHints(client, host, ({ event }) => logged.push(event));
  return {
    sent,
    logged,
    withhold: (...tools: string[]) =>
      onHints(tools.map((tool) => ({ server: 's', tool, hints: ['readOnlyHint'] }))),
    fail: (error: SignalboxError | undefined) => {
      failure = error;
    },
    become: (name: 'ready' | 'reconnecting') => {
      state = { name };
      onState(state);
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('sends an entry again if the connection was lost before the answer, together with what came meanwhile', async () => {
  const { sent, logged, withhold, fail, become } = ports();
  fail(new SignalboxError('connection_lost', 'lost', { retryable: true }));
  withhold('a');
  become('reconnecting');
  withhold('b');
  await settled();
  fail(undefined);
  become('ready');
  await settled();
  become('ready');
  await settled();
  const [a, b] = ['a', 'b'].map((tool) => `${tool} of server 's': readOnlyHint`);
  expect(sent).toEqual([a, `${a}; ${b}`]);
  expect(logged).toEqual([]);
});

it('drops and logs an entry that the broker refuses for good', async () => {
  const { sent, logged, withhold, fail, become } = ports();
  fail(new SignalboxError('forbidden', 'no'));
  withhold('a');
  await settled();
  become('ready');
  await settled();
  expect(sent).toHaveLength(1);
  expect(logged).toEqual(['audit_failed']);
});

it('names the tools that fit into one entry, and counts all others', async () => {
  const { sent, withhold, become } = ports();
  become('reconnecting');
  for (let i = 0; i < 50; i++) withhold(...Array.from({ length: 1000 }, (_, k) => `tool_${i}_${k}`));
  become('ready');
  await settled();
  expect(sent).toHaveLength(1);
  expect(sent[0]!.length).toBeLessThanOrEqual(frameLimits.auditDetailLength);
  const named = sent[0]!.split('; ').length - 1;
  expect(named).toBeGreaterThan(5);
  expect(sent[0]).toMatch(new RegExp(`; and ${50_000 - named} more$`));
});

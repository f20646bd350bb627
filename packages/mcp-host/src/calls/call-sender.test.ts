import { expect, test } from 'vitest';
import { type WaitingCall, WaitingCalls } from '../questions/waiting-calls.ts';
import { CallSender } from './call-sender.ts';
import type { CallTarget } from './call-target.ts';
import type { OutgoingCall } from './outgoing-call.ts';

test('A server that answers with the state of a call of another server does not take that call over.', async () => {
  const waiting = new WaitingCalls();
  const call: WaitingCall = {
    agent: 'rosa',
    is: () => true,
    goOn: async () => ({ result: {} }),
    stop: () => {},
  };
  const requestState = waiting.add(call);
  const sender = new CallSender({ now: () => 0, tracing: undefined, waiting });
  const answeredBy = async (target: CallTarget): Promise<void> => {
    const outgoing: OutgoingCall = {
      ...{ target, tool: { name: 'ask', inputSchema: { type: 'object' } }, args: {} },
      ...{ options: { signal: new AbortController().signal, timeoutMs: 1_000 } },
      ...{ deadline: 1_000, repeatable: false },
    };
    const result = { resultType: 'input_required', inputRequests: {}, requestState };
    const sent = sender.send(outgoing, async () => ({ result }));
    sender.ended(sent, await sent.answering);
  };
  const [first, second] = ['first', 'second'].map((name) => targetOf(name)) as [CallTarget, CallTarget];
  await answeredBy(first);
  await answeredBy(second);
  expect(waiting.targets.get(call)?.name).toBe('first');
});

function targetOf(name: string): CallTarget {
  return {
    ...{ name, instance: '', config: { type: 'stdio', command: 'true' }, redact: (text) => text },
    ...{ redactResult: undefined, lastError: undefined, outage: undefined, openConnection: undefined },
    connection: async () => undefined,
    freshConnection: async () => undefined,
  };
}

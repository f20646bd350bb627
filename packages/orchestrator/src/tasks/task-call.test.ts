import type { CallRequest, McpReply } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import {
  type KeptQuestion,
  keptQuestion,
  nextRound,
  openQuestions,
  replyToKeep,
  sentReply,
} from './task-call.ts';

const body: CallRequest = {
  op: 'call',
  tool: 'mcp_files__delete',
  arguments: { path: '/a' },
  options: { timeout_ms: 1000, progress: true },
  round: { client_capabilities: { elicitation: {} } },
  meta: { 'vendor/trace': 'x' },
};
const question = (name: string) => ({ method: 'elicitation/create', params: { message: name } });

/** Makes a reply that asks these questions, in its kept form after a round. */
function asks(keys: string[], round = 0, requestState?: string): KeptQuestion {
  const inputRequests = Object.fromEntries(keys.map((key) => [key, question(key)]));
  const input_required = {
    resultType: 'input_required' as const,
    inputRequests,
    ...(requestState && { requestState }),
  };
  const reply: McpReply = { input_required };
  const text = replyToKeep(reply, JSON.stringify(reply), body, round === 0 ? undefined : { number: round });
  return keptQuestion({ outcome: 'input_required', reply: text })!;
}

test('A reply that asks nothing is kept as it is sent, and one that asks with all that its next round needs.', () => {
  const ended: McpReply = { result: { content: [] } };
  expect(replyToKeep(ended, '{"sent":1}', body, undefined)).toBe('{"sent":1}');
  expect(keptQuestion({ outcome: 'ok', reply: JSON.stringify(ended) })).toBeUndefined();
  const { task: _kept, ...sent } = asks(['name']);
  expect(sentReply(JSON.stringify(asks(['name'])))).toEqual(sent);
  expect(sentReply(JSON.stringify(ended))).toEqual(ended);
  const { body: next } = nextRound(asks(['name'], 0, 's'), { '0.name': { action: 'decline' } });
  expect(next).toEqual({
    op: 'call',
    tool: 'mcp_files__delete',
    arguments: { path: '/a' },
    options: { timeout_ms: 1000 },
    meta: { 'vendor/trace': 'x' },
    round: {
      client_capabilities: { elicitation: {} },
      input_responses: { name: { action: 'decline' } },
      request_state: 's',
    },
  });
});

test('Questions of two rounds never have the same name, also where the server gives them one.', () => {
  const [first, second] = [openQuestions(asks(['name'])), openQuestions(asks(['name'], 1))];
  expect([first, second]).toEqual([{ '0.name': question('name') }, { '1.name': question('name') }]);
});

test('Answers are gathered until all are there; those to what is not asked, or was answered, change nothing.', () => {
  const asked = asks(['a', 'b']);
  const unasked = { a: 1, '1.a': 1, '0.c': 1, '0.constructor': 1 };
  expect(nextRound(asked, unasked).waiting).toMatchObject({ answered: {} });
  const { waiting } = nextRound(asked, { '0.b': 'first', ...unasked });
  expect(waiting).toMatchObject({ answered: { b: 'first' }, asked_in: 0 });
  const later = { ...asked, task: waiting! };
  expect(Object.keys(openQuestions(later))).toEqual(['0.a']);
  expect(nextRound(later, { '0.b': 'second', '0.a': 'last' })).toMatchObject({
    waiting: undefined,
    body: { round: { input_responses: { a: 'last', b: 'first' } } },
  });
});

test('A tool that only wants to be called again gets its state and no answers.', () => {
  const { body: next, waiting } = nextRound(asks([], 0, 's'), {});
  expect(waiting).toBeUndefined();
  expect(next.round).toEqual({ client_capabilities: { elicitation: {} }, request_state: 's' });
});

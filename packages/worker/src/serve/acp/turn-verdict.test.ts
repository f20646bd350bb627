import { expect, test } from 'vitest';
import { type AcpAgent, acpAgentOf, unknownAcpAgent } from './acp-agents.ts';
import { SpokenText } from './spoken-text.ts';
import { type SpokenTurn, talkFailure, turnVerdict } from './turn-verdict.ts';

const [codex, copilot] = [acpAgentOf(['codex-acp'])!, acpAgentOf(['copilot', '--acp'])!];
const unknown = unknownAcpAgent(['some-agent']);

/** The verdict on a turn of chunks: a text, or a text with the id of its message, or `tool` for a tool call. */
function verdict(chunks: (string | [string, string])[], turn: Partial<SpokenTurn> = {}) {
  const { agent = unknown } = turn;
  const spoken = new SpokenText(agent);
  for (const chunk of chunks) {
    if (chunk === 'tool') spoken.toolCalled();
    else if (typeof chunk === 'string') spoken.add(chunk, undefined);
    else spoken.add(...chunk);
  }
  const answer = { stopReason: 'end_turn', usage: undefined };
  return turnVerdict({
    agent,
    answer,
    last: spoken.last(),
    denials: [],
    isQuestion: true,
    completedCalls: 0,
    ...turn,
  });
}
const stopped = (stopReason: string) => ({ answer: { stopReason, usage: undefined } });

test('the answer is the last message only: by its id, or else the text after the last tool call', () => {
  const ids: [string, string][] = [
    ['I look. ', 'm1'],
    ['It is ', 'm2'],
    ['4.', 'm2'],
  ];
  expect(verdict(ids)).toEqual({ answer: { text: 'It is 4.' } });
  expect(verdict(['**Warning:** new mode\n', ...ids])).toEqual({ answer: { text: 'It is 4.' } });
  expect(verdict(['I look.', 'tool', 'It is ', '4.'])).toEqual({ answer: { text: 'It is 4.' } });
  const claude = acpAgentOf(['claude-agent-acp'])!;
  expect(verdict(['I look.', 'tool', 'It is 4.'], { agent: claude })).toEqual({
    answer: { text: 'It is 4.' },
  });
  expect(verdict(['a notice', ...ids], { agent: claude })).toEqual({ answer: { text: 'It is 4.' } });
  expect(verdict(['', 'tool', ''])).toMatchObject({ failed: expect.stringContaining('without an answer') });
});

test('an error text with end_turn is a failure: of an agent with ids by the missing one, of copilot by its form', () => {
  expect(verdict(['unexpected status 400'], { agent: codex })).toEqual({ failed: 'unexpected status 400' });
  expect(verdict(['Error: 400 bad'], { agent: copilot })).toEqual({ failed: 'Error: 400 bad' });
  const real = { stopReason: 'end_turn', usage: { outputTokens: 5 } };
  expect(verdict(['Error: is a class'], { agent: copilot, answer: real })).toEqual({
    answer: { text: 'Error: is a class' },
  });
  expect(verdict(['Error: is a class'])).toHaveProperty('answer');
});

test('a turn without text fails for a question, and is done for notes if a tool call was completed', () => {
  expect(verdict([])).toHaveProperty('failed');
  expect(verdict([], { isQuestion: false })).toHaveProperty('failed');
  expect(verdict([], { isQuestion: false, completedCalls: 1 })).toEqual({ answer: { text: '' } });
});

test.each(['end_turn', 'cancelled'])('%s without text after a denial is final, with the reason', (reason) => {
  const turn = { ...stopped(reason), denials: ['denied by lea: not today'] };
  expect(verdict([], turn)).toEqual({ failed: 'denied by lea: not today', isFinal: true });
  const info = 'Info: Operation cancelled by user';
  expect(verdict([info], { ...turn, agent: copilot })).toMatchObject({ isFinal: true });
});

test('a turn without text in which nobody could be asked has failed, and comes again', () => {
  expect(verdict([], { undecided: 'the broker is away' })).toEqual({ failed: 'the broker is away' });
});

test('an answer after a denial is an answer, and a turn that was cancelled by nobody here is none', () => {
  expect(verdict(['I did without.'], { denials: ['no'] })).toEqual({ answer: { text: 'I did without.' } });
  expect(verdict(['half'], stopped('cancelled'))).toEqual({ failed: "it ended with 'cancelled'" });
  expect(verdict(['half'], stopped('error'))).toEqual({ failed: "it ended with 'error'" });
});

test('a refusal is final, and an answer that was cut short says so in its first line', () => {
  expect(verdict(['I will not.'], stopped('refusal'))).toEqual({
    failed: 'its model refused: I will not.',
    isFinal: true,
  });
  expect(verdict(['A, B'], stopped('max_tokens'))).toMatchObject({
    answer: { text: expect.stringMatching(/^\[the model reached .*\]\nA, B$/) },
  });
  expect(verdict([], stopped('max_tokens'))).toEqual({ failed: 'it ended with max_tokens' });
});

test('an agent that nobody is signed in to, or whose model refuses all, is unavailable; other errors tell their data', () => {
  expect(talkFailure({ code: -32000, message: 'Authentication required' })).toMatchObject({
    isUnavailable: true,
  });
  expect(talkFailure({ code: 429, message: 'quota' })).toMatchObject({ isUnavailable: true });
  expect(talkFailure({ code: -32603, message: 'Internal', data: { errorKind: 'x' } })).toEqual({
    failed: 'error -32603: Internal {"errorKind":"x"}',
  });
  expect(talkFailure(new Error('ACP connection closed'))).toEqual({ failed: 'ACP connection closed' });
});

test('words of pi itself are no answer: of its start, of a newer version and of a further try', () => {
  const pi = acpAgentOf(['pi-acp'])!;
  const own = [
    'pi v1.6.0\n---\n\n## Skills\n- /a.md\n',
    'Retrying...',
    'Retrying (attempt 1/3, waiting 2s)...',
  ];
  expect(verdict(own, { agent: pi })).toEqual({ failed: 'pi ended the turn without an answer' });
  expect(verdict([...own, 'It is 4.'], { agent: pi })).toEqual({ answer: { text: 'It is 4.' } });
});

test('a model that refuses each request is told from one that refuses a request, in the words of each agent', () => {
  const isUnavailable = (command: string, told: string | object): boolean => {
    const agent = acpAgentOf(command.split(' '))!;
    const end = typeof told === 'string' ? verdict([told], { agent }) : talkFailure(told, agent);
    expect(end.answer).toBeUndefined();
    return end.isUnavailable === true;
  };
  const internal = (data: object, message = 'Internal error') => ({ code: -32603, message, data });
  const inLogin =
    'Error: Authentication failed with provider at http://127.0.0.1:9/v1 (HTTP 401).\n  Check it.';
  const afterTries = 'Error: Failed to get response from the AI model; retried 5 times Last error: 529 busy';
  expect(isUnavailable('copilot --acp', inLogin)).toBe(true);
  expect(isUnavailable('copilot --acp', afterTries)).toBe(true);
  expect(isUnavailable('copilot --acp', 'Error: 400 bad')).toBe(false);
  expect(isUnavailable('codex-acp', 'exceeded retry limit, last status: 429 Too Many Requests')).toBe(true);
  expect(isUnavailable('codex-acp', 'unexpected status 503 Service Unavailable: busy')).toBe(true);
  expect(isUnavailable('codex-acp', 'unexpected status 400 Bad Request: last status: 429 ')).toBe(false);
  expect(isUnavailable('qwen --acp', internal({ details: '401 imitated 401' }))).toBe(true);
  expect(isUnavailable('qwen --acp', internal({ details: '400 imitated 401 ' }))).toBe(false);
  expect(isUnavailable('claude-agent-acp', internal({ errorKind: 'server_error' }))).toBe(true);
  expect(isUnavailable('claude-agent-acp', internal({ errorKind: 'invalid_request' }))).toBe(false);
  expect(isUnavailable('opencode acp', internal({ service: 'session', errorName: 'APIError' }))).toBe(true);
  expect(isUnavailable('kilo acp', internal({ errorName: 'ContextOverflowError' }))).toBe(false);
});

test('a command line is ACP by its program and its word, also through the starter of a package', () => {
  const name = (...argv: string[]): AcpAgent['name'] | undefined => acpAgentOf(argv)?.name;
  expect(name('/usr/bin/gemini', '-m', 'pro', '--acp')).toBe('gemini');
  expect(name('gemini', '-p')).toBeUndefined();
  expect(name('opencode', 'run', 'acp-notes')).toBeUndefined();
  expect(name('npx', '-y', '@agentclientprotocol/codex-acp@2.6.0')).toBe('codex');
  expect(unknownAcpAgent(['/opt/My Agent.js']).name).toBe('my-agent');
});

import { toolCallError } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { permissionAnswer } from './permission-answer.ts';

test('a permission that was given has the CLI use its tool with the input as it came', () => {
  const input = { command: 'ls', token: 'secret' };
  expect(permissionAnswer(input, undefined)).toEqual({ behavior: 'allow', updatedInput: input });
});

test('every other end of the question is a denial, in words that say why and what to do', () => {
  const denied = toolCallError('approval_denied', 'a person denied it: not today', {
    mayHaveRun: false,
    hint: 'Follow the reason.',
  });
  expect(permissionAnswer({}, denied)).toEqual({
    behavior: 'deny',
    message: 'approval_denied: a person denied it: not today. Follow the reason.',
  });
  const expired = toolCallError('approval_expired', 'nobody decided', { mayHaveRun: false });
  expect(permissionAnswer({}, expired)).toMatchObject({ message: expect.stringContaining('try again') });
});

test('a question whose end is not known does not frighten a model: the tool was not used', () => {
  const lost = toolCallError('mcp_server_unreachable', 'the connection was lost', {
    mayHaveRun: true,
    retryable: false,
  });
  const { message } = permissionAnswer({}, lost) as { message: string };
  expect(message).not.toContain('may have had an effect');
});

import { expect, test } from 'vitest';
import { toolCallError } from './tool-call-error.ts';
import { toolCallErrorSchema } from './tool-call-error-schema.ts';
import { type ToolErrorCode, toolErrorCodes } from './tool-error-codes.ts';

/** Each code with its category and its `retryable`, as the specification lists them. */
const table: [ToolErrorCode, string, boolean][] = [
  ['tool_not_found', 'permanent', false],
  ['not_found', 'permanent', false],
  ['tool_timeout', 'transient', true],
  ['tool_panicked', 'permanent', false],
  ['invalid_arguments', 'validation', false],
  ['permission_denied', 'auth', false],
  ['quota_exceeded', 'transient', true],
  ['storage_full', 'transient', true],
  ['network_blocked', 'permanent', false],
  ['mcp_server_unreachable', 'transient', true],
  ['outcome_unknown', 'permanent', false],
  ['approval_denied', 'permanent', false],
  ['approval_expired', 'transient', true],
  ['approval_superseded', 'transient', true],
  ['definition_changed', 'permanent', false],
  ['held', 'transient', true],
  ['no_turn', 'permanent', false],
  ['cancelled', 'permanent', false],
  ['result_too_large', 'permanent', false],
  ['manifest_moved', 'transient', true],
  ['internal', 'permanent', false],
  ['unknown', 'permanent', false],
];

test.each(table)('%s is %s, and retryable: %s', (code, category, retryable) => {
  const error = toolCallError(code, 'what happened', { mayHaveRun: false });
  // There are no other fields: empty optional fields are left out.
  expect(error).toEqual({ code, message: 'what happened', category, retryable, may_have_run: false });
  expect(toolCallErrorSchema.parse(JSON.parse(JSON.stringify(error)))).toEqual(error);
});

test('the table has every code there is', () => {
  expect(table.map(([code]) => code)).toEqual(Object.keys(toolErrorCodes));
});

test('a code or category of a later version reads as unknown, and the rest is kept', () => {
  const later = {
    code: 'server_on_strike',
    message: 'come back tomorrow',
    category: 'labour',
    retryable: true,
    may_have_run: false,
    retry_after_seconds: 86_400,
  };
  expect(toolCallErrorSchema.parse(later)).toEqual({ ...later, code: 'unknown', category: 'permanent' });
});

test('the cause chain and the other optionals pass through, and empty ones are left out', () => {
  const full = toolCallError('tool_timeout', 'late', {
    mayHaveRun: true,
    retryable: false,
    hint: 'ask again',
    retryAfterSeconds: 3,
    causeChain: ['the server was slow', 'the disk was full'],
  });
  expect(toolCallErrorSchema.parse(full)).toEqual({
    code: 'tool_timeout',
    message: 'late',
    category: 'transient',
    retryable: false,
    may_have_run: true,
    hint: 'ask again',
    retry_after_seconds: 3,
    cause_chain: ['the server was slow', 'the disk was full'],
  });
  const empty = toolCallError('internal', 'x', { mayHaveRun: false, hint: '', causeChain: [] });
  expect(Object.keys(empty)).not.toContain('hint');
  expect(Object.keys(empty)).not.toContain('cause_chain');
});

import { type Tool, toolCallError } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { failedResultOf, pendingResultOf } from './tool-result.ts';

const tool: Tool = { name: 'mcp_a__b', inputSchema: { type: 'object' } };

test('a failure is text a model can act on, with the envelope as data', () => {
  const error = toolCallError('quota_exceeded', 'too many calls are waiting', {
    mayHaveRun: false,
    retryAfterSeconds: 3,
  });
  expect(failedResultOf(error, tool)).toEqual({
    content: [
      { type: 'text', text: 'quota_exceeded: too many calls are waiting. You may try again in 3 s.' },
    ],
    structuredContent: { error },
    isError: true,
    _meta: { 'signalbox/error': error },
  });
});

test('a failure that may have had an effect says so, a harmless one does not', () => {
  const unknown = toolCallError('outcome_unknown', 'lost', { mayHaveRun: true });
  expect(failedResultOf(unknown, tool).content).toEqual([
    {
      type: 'text',
      text: 'outcome_unknown: lost. The call may have had an effect; do not simply repeat it.',
    },
  ]);
  const denied = toolCallError('permission_denied', 'no', { mayHaveRun: false });
  expect(failedResultOf(denied, tool).content).toEqual([{ type: 'text', text: 'permission_denied: no.' }]);
});

test('a tool with an output schema fails without structured content that could not match it', () => {
  const error = toolCallError('cancelled', 'stopped', { mayHaveRun: false });
  const failed = failedResultOf(error, { ...tool, outputSchema: { type: 'object' } });
  expect(failed).not.toHaveProperty('structuredContent');
  expect(failed._meta).toEqual({ 'signalbox/error': error });
});

test('a call that waits for a person is no failure, or says why it is marked as one', () => {
  const pending = (shown: Tool) =>
    pendingResultOf(shown.name, 'c-1', 'a-1', { tool: shown, canLookUp: true });
  const plain = pending(tool);
  expect(plain.isError).toBeUndefined();
  expect(JSON.stringify(plain.content)).toContain('(approval a-1). This is no failure. Do other work');
  const described = pending({ ...tool, outputSchema: { type: 'object' } });
  expect(described.isError).toBe(true);
  expect(JSON.stringify(described.content)).toContain(
    'It is marked as an error because it is not the result',
  );
  expect(JSON.stringify(described.content)).not.toContain('no failure');
});

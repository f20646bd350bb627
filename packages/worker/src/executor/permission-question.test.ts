import { questionHash, toolCallError } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { endOfQuestion } from './permission-question.ts';

test('a permission for one use of a tool opens no other one, also if it was asked for under the same id before', async () => {
  const harmless = { cli: 'claude', tool: 'Bash', input: { command: 'ls' } };
  const given = {
    result: { content: [], structuredContent: { question_hash: await questionHash(harmless) } },
  };
  expect(await endOfQuestion(structuredClone(harmless), given)).toBe(given);
  for (const other of [{ input: { command: 'rm -r /' } }, { input: {} }, { tool: 'Write' }])
    expect(await endOfQuestion({ ...harmless, ...other }, given)).toMatchObject({
      error: { code: 'approval_superseded', may_have_run: false },
    });
  expect(await endOfQuestion(harmless, { result: { content: [] } })).toHaveProperty('error');
  const denied = { error: toolCallError('approval_denied', 'no', { mayHaveRun: false }) };
  expect(await endOfQuestion(harmless, denied)).toBe(denied);
});

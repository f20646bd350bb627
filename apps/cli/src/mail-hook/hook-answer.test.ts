import { expect, test } from 'vitest';
import { hookEventOf } from './hook-answer.ts';

const answerTo = (event: unknown) => hookEventOf(JSON.stringify(event))?.answer('NEWS.');

test.each(['UserPromptSubmit', 'BeforeAgent'])('before a turn, %s adds the hint to the prompt', (name) => {
  expect(answerTo({ hook_event_name: name })).toEqual({
    hookSpecificOutput: { hookEventName: name, additionalContext: 'NEWS.' },
  });
});

test.each(['Stop', 'AfterAgent'])('at the end of a turn, %s prolongs it once', (name) => {
  expect(answerTo({ hook_event_name: name, stop_hook_active: false })).toEqual({
    decision: 'block',
    reason: expect.stringMatching(/^NEWS\. .*final answer again/),
  });
  expect(answerTo({ hook_event_name: name, stop_hook_active: true })).toBeUndefined();
});

test('copilot has the same events, and gets the hint before a turn in its own form', () => {
  const answerOf = (name: string) =>
    hookEventOf(JSON.stringify({ hook_event_name: name }), 'copilot')?.answer('NEWS.');
  expect(answerOf('UserPromptSubmit')).toEqual({ additionalContext: 'NEWS.' });
  expect(answerOf('Stop')).toEqual(answerTo({ hook_event_name: 'Stop' }));
  expect(answerOf('BeforeAgent')).toBeUndefined();
});

test('other events, and texts that are no event, are not answered', () => {
  for (const name of ['PostToolUse', 'constructor', 7]) {
    expect(answerTo({ hook_event_name: name })).toBeUndefined();
  }
  for (const input of ['', '{', 'null', '[]', '"Stop"']) expect(hookEventOf(input)).toBeUndefined();
});

import { expect, test } from 'vitest';
import { failureText } from './failure-text.ts';

test('Further lines of a message are quoted, as they may be the words of a server; lines of a configuration error are ours.', () => {
  const message = 'the server said: no\n  what became of it: rm -rf /\u200b';
  expect(failureText({ code: 'tool_error', retryable: false, message, hint: 'ask' })).toBe(
    'signalbox: the server said: no\n  |   what became of it: rm -rf /\\u200b\n  ask\n',
  );
  expect(failureText({ code: 'bad_config', retryable: false, message: 'a.yaml:1: x\na.yaml:2: y' })).toBe(
    'a.yaml:1: x\na.yaml:2: y\n',
  );
});

import { bodyLimits, type McpReply, toolCallError } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { boundedReply } from './bounded-reply.ts';

const reply = (text: string): McpReply => ({
  result: { content: [{ type: 'text', text }] },
});

test('a reply that fits is handed on as it is', () => {
  const fits = reply('x'.repeat(100));
  const text = JSON.stringify(fits);
  const bounded = boundedReply(fits, Buffer.byteLength(text));
  expect(bounded.reply).toBe(fits);
  expect(bounded.text).toBe(text);
});

test('a token that a server read somewhere is in no result and no error, and in no name of a value', () => {
  const token = `sbx_rosa~${'aB3-_'.repeat(8)}abc`;
  const structuredContent = { [token]: [token, `"${token}\n`], kept: 'sbx_rosa~…' };
  const content = [{ type: 'text' as const, text: `{"of":"${token}"} and ${token.slice(0, 30)}` }];
  const leaky = { result: { content, structuredContent } };
  const { reply, text } = boundedReply(leaky, 10_000);
  expect(JSON.stringify(reply)).toBe(text);
  expect(text).not.toContain('aB3');
  expect(reply).toMatchObject({
    result: {
      content: [{ text: '{"of":"[token]"} and [token]' }],
      structuredContent: { '[token]': ['[token]', '"[token]\n'], kept: 'sbx_rosa~…' },
    },
  });
  const error = toolCallError('internal', `no such file: ${token}`, { mayHaveRun: true });
  expect(boundedReply({ error }, 10_000).reply).toMatchObject({
    error: { message: 'no such file: [token]' },
  });
});

test('a reply of more bytes than a message may have becomes an error, counted in bytes', () => {
  const long = reply('é'.repeat(100));
  expect(boundedReply(long, JSON.stringify(long).length).reply).toMatchObject({
    error: { code: 'result_too_large', may_have_run: true, retryable: false },
  });
});

test('a result that nests deeper than readers accept becomes an error', () => {
  const nested = (levels: number): McpReply => {
    let value: unknown = 'leaf';
    for (let i = 0; i < levels; i++) value = [value];
    return { result: { content: [], structuredContent: value } };
  };
  // The reply, and the result in it, are levels themselves.
  const most = bodyLimits.maxDepth - 2;
  expect(boundedReply(nested(most), 1e6).reply).toHaveProperty('result');
  for (const levels of [most + 1, 10_000]) {
    expect(boundedReply(nested(levels), 1e6).reply).toMatchObject({
      error: { code: 'result_too_large', message: `the result nests deeper than ${most + 1} levels` },
    });
  }
});

test('a result of more values than readers accept becomes an error', () => {
  const values = (count: number): McpReply => ({
    result: { content: [], structuredContent: Array(count).fill(0) },
  });
  const byDefault = bodyLimits.maxLength;
  expect(boundedReply(values(249_000), byDefault).reply).toHaveProperty('result');
  expect(boundedReply(values(250_000), byDefault).reply).toMatchObject({
    error: {
      code: 'result_too_large',
      message: 'the result has more than 250000 values and names',
      hint: expect.stringContaining('raise broker.limits.message.bytes'),
    },
  });
  expect(boundedReply(values(499_000), 2 * byDefault).reply).toHaveProperty('result');
  expect(boundedReply(values(500_000), 2 * byDefault).reply).toHaveProperty('error');
});

test('an oversized reply that is no result has not run anything', () => {
  const error = toolCallError('tool_not_found', 'x'.repeat(200), { mayHaveRun: false });
  expect(boundedReply({ error }, 100).reply).toMatchObject({ error: { may_have_run: false } });
});

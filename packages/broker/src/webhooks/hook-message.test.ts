import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { hookMessageBody, hookMessageId } from './hook-message.ts';

const written = (content: string | Buffer, headers = {}, deliveryId?: string): string =>
  hookMessageBody(headers, Buffer.from(content), deliveryId);

test('A message has what its reader needs of the headers, and no other header.', () => {
  const headers = {
    'x-github-event': 'push',
    'content-type': 'application/json',
    authorization: 'Bearer secret',
    'user-agent': 'GitHub-Hookshot',
  };
  expect(JSON.parse(written('{"ref":"main"}', headers, 'guid'))).toEqual({
    event: 'push',
    delivery: 'guid',
    content_type: 'application/json',
    json: { ref: 'main' },
  });
});

test('JSON keeps its numbers as they were written, and becomes one line.', () => {
  const body = written('{\r\n  "id": 12345678901234567890,\n  "x": "a\\nb"\n}\n');
  expect(body).toBe('{"json":{   "id": 12345678901234567890,   "x": "a\\nb" } }');
  expect(JSON.parse(body).json.x).toBe('a\nb');
  expect(written('3')).toBe('{"json":3}');
});

test.each([
  ['', { text: '' }],
  ['a=1&b=2', { text: 'a=1&b=2' }],
  ['{"a":1', { text: '{"a":1' }],
  ['1} ,"from":{"x":1', { text: '1} ,"from":{"x":1' }],
  ['line 1\nline 2 "ä"', { text: 'line 1\nline 2 "ä"' }],
  ['['.repeat(256) + ']'.repeat(256), { text: '['.repeat(256) + ']'.repeat(256) }],
  [Buffer.from([0xff, 0xfe, 0]), { base64: '//4A' }],
])('The content %j is written as %j.', (content, expected) => {
  const body = written(content);
  expect(JSON.parse(body)).toEqual(expected);
  expect(body).not.toMatch(/[\r\n]/);
});

test('JSON as deep as readers take it within a message stays JSON.', () => {
  expect(JSON.parse(written('['.repeat(63) + ']'.repeat(63)))).toHaveProperty('json');
});

test('Content in a coding stays as it is, with the name of the coding.', () => {
  expect(JSON.parse(written('{}', { 'content-encoding': 'gzip' }))).toEqual({
    content_encoding: 'gzip',
    base64: 'e30=',
  });
});

test('The id of a message is the SHA-256 of webhook and delivery, and fits the protocol.', () => {
  const id = hookMessageId('github', 'guid');
  expect(id).toBe(createHash('sha256').update('github\nguid').digest('hex'));
  expect(id).toHaveLength(64);
  expect(new Set([id, hookMessageId('gitlab', 'guid'), hookMessageId('github', 'guid2')]).size).toBe(3);
});

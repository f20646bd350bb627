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

test.each([
  ['payload=%7B%22id%22%3A12345678901234567890%7D', '"json":{"id":12345678901234567890}'],
  ['payload=%EF%BB%BF%7B%7D', '"json":{}'],
  ['payload=no+json', '"form":{"payload":"no json"}'],
  ['payload=1&x=2', '"form":{"payload":"1","x":"2"}'],
  ['a=%C3%A4+b&c=&c=2', '"form":{"a":"ä b","c":["","2"]}'],
  ['', '"form":{}'],
])('The form %j is written as %j.', (content, expected) => {
  const type = 'application/x-www-form-urlencoded; charset=utf-8';
  expect(written(content, { 'content-type': type })).toBe(`{"content_type":"${type}",${expected}}`);
});

test('A byte-order mark before JSON or text is no part of it.', () => {
  expect(written('\ufeff{"a":1}')).toBe('{"json":{"a":1}}');
  expect(written('\ufeffline')).toBe('{"text":"line"}');
});

test('A form with more fields than readers take stays text.', () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const many = Array.from({ length: 200_000 }, (_, at) => `a${at}=1`).join('&');
  expect(JSON.parse(written(many, headers))).toMatchObject({ text: many });
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

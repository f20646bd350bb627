import { expect, test } from 'vitest';
import { shownArguments } from './call-digests.ts';

const shown = (json: string) => shownArguments(JSON.parse(json) as Record<string, unknown>);

test('arguments that are equal as JSON have one hash, and all others have another one', () => {
  const one = shown('{"a":1,"b":[2.0,"\\u00e5"]}');
  expect(shown('{ "b": [2, "å"], "a": 1e0 }')).toMatchObject({ hash: 'hash' in one && one.hash });
  const texts = [
    '{"a":1}',
    '{"a":"1"}',
    '{"a":1,"__proto__":{"b":2}}',
    '{"a":1,"toJSON":2}',
    '{"a":[1]}',
    '{"a":null}',
    '{}',
  ];
  const lookAlikes = [
    '{"a":"\u00e5"}',
    '{"a":"a\u030a"}',
    '{"p":"/srv/prod"}',
    '{"p":"/srv/рrod"}',
    '{"p":"/srv/prod\u200b"}',
  ];
  const hashes = [...texts, ...lookAlikes].map((text) => (shown(text) as { hash: string }).hash);
  expect(new Set(hashes).size).toBe(hashes.length);
});

test('values of fields that are named like secrets are not shown, also in lists and objects, and all others are', () => {
  expect(
    shown('{"api_key":["k-1",{"old":"k-2"}],"max_tokens":4096,"path":["/a"],"__proto__":{"cmd":"rm"}}'),
  ).toMatchObject({
    text: '{"api_key":["[redacted]",{"old":"[redacted]"}],"max_tokens":4096,"path":["/a"],"__proto__":{"cmd":"rm"}}',
  });
});

test('arguments that a person could not read are refused', () => {
  expect(shown(`{"a":"${'x'.repeat(65_536)}"}`)).toHaveProperty('problem');
  expect(shown('{"a":"\\ud800"}')).toHaveProperty('problem');
});

test('what the server gets beside the arguments is shown without secrets, has a hash of its own, and counts for the length', () => {
  const args = { path: '/a' };
  const plain = shownArguments(args);
  const one = shownArguments(args, {}, { 'com.example/mode': 'force', token: 'k-1' });
  const other = shownArguments(args, {}, { 'com.example/mode': 'try', token: 'k-1' });
  expect(plain).not.toHaveProperty('meta');
  expect(one).toMatchObject({
    hash: 'hash' in plain && plain.hash,
    meta: { text: '{"com.example/mode":"force","token":"[redacted]"}' },
  });
  expect('meta' in one && one.meta?.hash).not.toBe('meta' in other && other.meta?.hash);
  expect(shownArguments({ a: 'x'.repeat(40_000) }, {}, { b: 'x'.repeat(30_000) })).toHaveProperty('problem');
  expect(shownArguments(args, {}, { b: '\ud800' })).toHaveProperty('problem');
});

test('the answers of a further round are shown, and tell its call from that of another round', () => {
  const args = { path: '/a' };
  const answered = (env: string, state = 's1') =>
    shownArguments(args, { input_responses: { env }, request_state: state });
  expect(answered('prod')).toMatchObject({ text: '{"path":"/a","signalbox/answers":{"env":"prod"}}' });
  const all = [shownArguments(args, {}), answered('prod'), answered('test'), answered('prod', 's2')];
  expect(new Set(all.map((one) => 'hash' in one && one.hash)).size).toBe(4);
  expect(shownArguments(args)).toEqual(all[0]);
  expect(shownArguments({ 'signalbox/answers': 1 })).toHaveProperty('problem');
});

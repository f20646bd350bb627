import { expect, test } from 'vitest';
import { type HidingRules, redactedText, shownArguments } from './call-digests.ts';

const source = 'mcpServers.files.env.API_KEY';
const rules: HidingRules = { secrets: [{ value: 'sekret-of-config', source }], key: 'j-1' };
const shown = (json: string, by = rules) => shownArguments(JSON.parse(json) as Record<string, unknown>, by);

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

test('those who decide see everything that the tool gets, whatever its name, except tokens and secrets of the configuration', () => {
  const token = `sbx_rosa~${'a'.repeat(43)}`;
  const args = {
    ...{ key: 'prod/customers', password: 'k-1', github: `ghp_${'a'.repeat(36)}`, __proto__: { cmd: 'rm' } },
    ...{ text: 'is sekret-of-config, sekret-of-config', [token]: 1 },
  };
  const one = shownArguments(args, rules);
  expect(one).toMatchObject({ hidden: 3 });
  const { text } = one as { text: string };
  const [mark] =
    /\[hidden: 16 characters, hash [\w-]{12}, mcpServers\.files\.env\.API_KEY\]/.exec(text) ?? [];
  expect(JSON.parse(text)).toEqual({
    ...args,
    text: `is ${mark}, ${mark}`,
    [token]: undefined,
    [/\[hidden: 52 characters, hash [\w-]{12}\]/.exec(text)![0]]: 1,
  });
  const literal = shown('{"text":"[hidden: 16 characters, hash AAAAAAAAAAAA]"}');
  expect(literal).toMatchObject({ hidden: 0 });
});

test('the mark of a secret names one of the entries that it comes from and counts the others, the one that holds most of it first', () => {
  const secrets = [
    { value: 'sekret', source: 'part' },
    { value: 'sekret-of/config', source },
    { value: 'sekret-of/config', source: 'another' },
    { value: 'another-value', source: 'other' },
  ];
  const one = shown('{"a":"sekret-of%2Fconfig","b":"my sekret"}', { secrets, key: 'j-1' });
  const marks = JSON.parse((one as { text: string }).text) as { a: string; b: string };
  expect(marks.a).toMatch(
    /^\[hidden: 18 characters, hash [\w-]{12}, mcpServers\.files\.env\.API_KEY and 2 more\]$/,
  );
  expect(marks.b).toMatch(/^my \[hidden: 6 characters, hash [\w-]{12}, part\]$/);
});

test('a secret of digits is hidden as a number, too, and other numbers are shown', () => {
  const pin: HidingRules = { ...rules, secrets: [{ value: '246810123', source: 'mcpServers.door.env.PIN' }] };
  const one = shown('{"ms":246810123,"list":[2.46810123e8,7],"__proto__":1}', pin);
  expect(one).toMatchObject({ hidden: 2 });
  const { text } = one as { text: string };
  expect(text).not.toContain('246810123');
  expect(JSON.parse(text)).toMatchObject({
    ms: expect.stringContaining('mcpServers.door.env.PIN'),
    list: [expect.any(String), 7],
  });
  expect(text).toContain('"__proto__":1');
});

test('a hash of arguments or of a hidden value can be found by guessing only with the key', () => {
  const [one, same, other] = ['j-1', 'j-1', 'j-2'].map((key) =>
    shown('{"pin":"1234","s":"sekret-of-config"}', { ...rules, key }),
  );
  expect(one).toEqual(same);
  expect(one).not.toHaveProperty('hash', (other as { hash: string }).hash);
  expect(one).not.toHaveProperty('text', (other as { text: string }).text);
});

test('others than those who decide get the arguments without values that are secrets by their name or form', () => {
  const { text } = shown(
    `{"api_key":["k-1",{"old":"k-2"}],"max_tokens":4096,"path":["/a"],"__proto__":{"cmd":"rm"},"h":"ghp_${'a'.repeat(36)}"}`,
  ) as { text: string };
  expect(redactedText(text)).toBe(
    '{"api_key":["[redacted]",{"old":"[redacted]"}],"max_tokens":4096,"path":["/a"],"__proto__":{"cmd":"rm"},"h":"[redacted]"}',
  );
});

test('arguments that a person could not read are refused', () => {
  expect(shown(`{"a":"${'x'.repeat(65_536)}"}`)).toHaveProperty('problem');
  expect(shown('{"a":"\\ud800"}')).toHaveProperty('problem');
  const nested = (levels: number) => shown(`{"a":${'['.repeat(levels - 1)}"x"${']'.repeat(levels - 1)}}`);
  expect(nested(1001)).toHaveProperty('problem');
  expect(nested(1000)).toHaveProperty('text', expect.stringContaining('"x"'));
});

test('what the server gets beside the arguments is shown, has a hash of its own, and counts for the length', () => {
  const args = { path: '/a' };
  const plain = shownArguments(args, rules);
  const one = shownArguments(args, rules, {}, { 'com.example/mode': 'force', token: 'k-1' });
  const other = shownArguments(args, rules, {}, { 'com.example/mode': 'try', token: 'k-1' });
  expect(plain).not.toHaveProperty('meta');
  expect(one).toMatchObject({
    hash: 'hash' in plain && plain.hash,
    meta: { text: '{"com.example/mode":"force","token":"k-1"}' },
  });
  expect('meta' in one && one.meta?.hash).not.toBe('meta' in other && other.meta?.hash);
  expect(shownArguments({ a: 'x'.repeat(40_000) }, rules, {}, { b: 'x'.repeat(30_000) })).toHaveProperty(
    'problem',
  );
  expect(shownArguments(args, rules, {}, { b: '\ud800' })).toHaveProperty('problem');
});

test('the answers and the state of a further round are shown, and tell its call from that of another round', () => {
  const args = { path: '/a' };
  const answered = (env: string, state = 's1') =>
    shownArguments(args, rules, { input_responses: { env }, request_state: state });
  expect(answered('prod')).toMatchObject({
    text: '{"path":"/a","signalbox/answers":{"env":"prod"},"signalbox/request_state":"s1"}',
  });
  const all = [shownArguments(args, rules, {}), answered('prod'), answered('test'), answered('prod', 's2')];
  expect(new Set(all.map((one) => 'hash' in one && one.hash)).size).toBe(4);
  expect(shownArguments(args, rules)).toEqual(all[0]);
  expect(shownArguments({ 'signalbox/answers': 1 }, rules)).toHaveProperty('problem');
  expect(shownArguments({ 'signalbox/request_state': 's1' }, rules)).toHaveProperty('problem');
});

test('the state of a further round is shown without secrets, and counts for the length', () => {
  const withState = (state: string) => shownArguments({ path: '/a' }, rules, { request_state: state });
  const one = withState('{"key":"sekret-of-config"}');
  expect(one).toMatchObject({ hidden: 1, text: expect.stringContaining('[hidden: 16 characters, hash ') });
  expect(one).toMatchObject({ text: expect.not.stringContaining('sekret') });
  expect(withState('x'.repeat(65_536))).toMatchObject({
    problem: expect.stringContaining("arguments and 'signalbox/request_state'"),
  });
});

import { expect, test } from 'vitest';
import { checkedAnswer } from './checked-answer.ts';

const uri = 'file:///docs';
const route = (asked = uri) => ({
  server: 'files',
  params: { uri },
  name: uri,
  origin: { server: 'files', tool: uri },
  resource: { asked, uri },
});
const rights = { canAnswer: false, mayRead: (other: string) => other !== 'file:///docs/secret' };
const answer = (contents: unknown, asked?: string) =>
  checkedAnswer({ contents, 'x-vendor': 1 }, route(asked), rights);
const text = (at: string) => ({ uri: at, text: 't', 'x-more': [1] });

test('What was asked for arrives as it came, and so does what is below it and allowed.', () => {
  const contents = [text(uri), { uri: `${uri}/a`, blob: '' }];
  expect(answer(contents)).toEqual({ data: { contents, 'x-vendor': 1 } });
});

test.each([
  ['another resource', [text('file:///etc/passwd')]],
  ['a resource whose URI only begins alike', [text('file:///docs-of-others')]],
  ['a resource below that the role may not read', [text(uri), text('file:///docs/secret')]],
  ['contents without a URI', [{ text: 't' }]],
  ['contents that are neither text nor blob', [{ uri, text: 7 }]],
  ['no list', undefined],
])('An answer with %s is an error, and no part of it is passed on.', (_what, contents) => {
  const reply = answer(contents);
  expect(reply).toMatchObject({ error: { code: 'internal', may_have_run: false } });
  expect(JSON.stringify(reply)).not.toContain('passwd');
});

test('A resource that was asked for under the name of its server comes back under it.', () => {
  const asked = `signalbox://files/${uri}`;
  expect(answer([text(uri), text(`${uri}/a`)], asked)).toMatchObject({
    data: { contents: [{ uri: asked }, { uri: `${asked}/a` }] },
  });
});

test('A server that asks for input is passed on to those who can answer, and an error to others.', () => {
  const asking = { resultType: 'input_required', inputRequests: {} };
  expect(checkedAnswer(asking, route(), { ...rights, canAnswer: true })).toEqual({ input_required: asking });
  expect(checkedAnswer(asking, route(), rights)).toMatchObject({ error: { code: 'internal' } });
});

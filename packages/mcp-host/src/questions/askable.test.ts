import type { QuestionKind } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { askableOf, canAnswer, declaredBy, declaresAll } from './askable.ts';

/** The extension of a client that shows pages. */
const anyPages = {
  extensions: { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } },
};
const every: readonly QuestionKind[] = ['elicitation', 'sampling', 'roots'];

test('An instance of one agent declares what the client declared that starts it, as far as the server may ask for it.', () => {
  const ui = { mimeTypes: ['text/html;profile=mcp-app', 'text/html'] };
  const extensions = { 'io.modelcontextprotocol/ui': ui, 'vendor/odd': {} };
  const client = { elicitation: {}, roots: { listChanged: true }, tasks: {}, extensions };
  const instance = { share: 'worker', instance: 'worker:rosa' } as const;
  const pages = { extensions: { 'io.modelcontextprotocol/ui': ui } };
  const declared = { elicitation: { form: {} }, roots: {}, ...pages };
  expect(declaredBy({ ...instance, questions: every }, client)).toEqual(declared);
  expect(declaredBy({ ...instance, questions: ['elicitation', 'sampling'] }, client)).toEqual({
    elicitation: { form: {} },
    ...pages,
  });
  expect(declaredBy({ ...instance, questions: [] }, client)).toEqual(pages);
  expect(declaredBy({ ...instance, questions: every }, undefined)).toEqual({});
});

test('The instance that lists the tools declares all that the server may ask for; a shared instance never declares roots.', () => {
  const listing = declaredBy({ share: 'worker', instance: 'listing', questions: every }, undefined);
  expect(listing).toEqual({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {}, ...anyPages });
  expect(declaresAll(listing, every)).toBe(true);
  for (const share of ['all', 'role'] as const) {
    const shared = declaredBy({ share, instance: '', questions: every }, { roots: {} });
    expect(shared).toEqual({ elicitation: { form: {} }, sampling: {}, ...anyPages });
    expect(declaresAll(shared, every)).toBe(false);
  }
});

test.each([
  ['elicitation/create', {}, { elicitation: {} }, true],
  ['elicitation/create', { mode: 'url' }, { elicitation: {} }, false],
  ['elicitation/create', { mode: 'url' }, { elicitation: { url: {} } }, true],
  ['elicitation/create', { mode: 'form' }, { elicitation: { url: {} } }, false],
  ['elicitation/create', {}, { sampling: {} }, false],
  ['sampling/createMessage', {}, { sampling: {} }, true],
  ['sampling/createMessage', { tools: [] }, { sampling: {} }, false],
  ['sampling/createMessage', { tools: [] }, { sampling: { tools: {} } }, true],
  ['roots/list', {}, { roots: {} }, true],
  ['roots/list', {}, { elicitation: {} }, false],
  ['roots/list', {}, { roots: true }, false],
] as const)('%s %o to a client that declares %o: %s.', (method, params, client, expected) => {
  expect(canAnswer(askableOf(client), method, params)).toBe(expected);
});

import type { QuestionKind } from '@signalbox/protocol';
import { expect, test } from 'vitest';
import { askableOf, canAnswer, declaredBy, declaresAll } from './askable.ts';

const every: readonly QuestionKind[] = ['elicitation', 'sampling', 'roots'];

test('An instance of one agent declares what the client declared that starts it, as far as the server may ask for it.', () => {
  const client = { elicitation: {}, roots: { listChanged: true }, tasks: {}, experimental: { odd: {} } };
  const instance = { share: 'worker', instance: 'worker:rosa' } as const;
  const declared = { elicitation: { form: {} }, roots: {} };
  expect(declaredBy({ ...instance, questions: every }, client)).toEqual(declared);
  expect(declaredBy({ ...instance, questions: ['elicitation', 'sampling'] }, client)).toEqual({
    elicitation: { form: {} },
  });
  expect(declaredBy({ ...instance, questions: [] }, client)).toEqual({});
  expect(declaredBy({ ...instance, questions: every }, undefined)).toEqual({});
});

test('The instance that lists the tools declares all that the server may ask for; a shared instance never declares roots.', () => {
  const listing = declaredBy({ share: 'worker', instance: 'listing', questions: every }, undefined);
  expect(listing).toEqual({ elicitation: { form: {}, url: {} }, sampling: {}, roots: {} });
  expect(declaresAll(listing, every)).toBe(true);
  for (const share of ['all', 'role'] as const) {
    const shared = declaredBy({ share, instance: '', questions: every }, { roots: {} });
    expect(shared).toEqual({ elicitation: { form: {} }, sampling: {} });
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

import { expect, test } from 'vitest';
import { answerProblem } from './answer-check.ts';

test.each([
  ['elicitation/create', { action: 'accept', content: { name: 'Ada', age: 36, wise: true, tags: ['a'] } }],
  ['elicitation/create', { action: 'decline' }],
  ['elicitation/create', { action: 'cancel', content: null, _meta: { x: 1 } }],
  ['sampling/createMessage', { role: 'assistant', model: 'm', content: { type: 'text', text: 'hi' } }],
  ['sampling/createMessage', { role: 'user', model: 'm', content: [{ type: 'text' }, { type: 'tool_use' }] }],
  ['roots/list', { roots: [] }],
  ['roots/list', { roots: [{ uri: 'file:///srv', name: 'srv' }] }],
] as const)('%s may be answered with %j.', (method, answer) => {
  expect(answerProblem(method, answer)).toBeUndefined();
});

test.each([
  ['elicitation/create', undefined, 'object'],
  ['elicitation/create', 'yes', 'object'],
  ['elicitation/create', { action: 'ok' }, 'action'],
  ['elicitation/create', { action: 'accept', content: ['a'] }, 'object'],
  ['elicitation/create', { action: 'accept', content: { name: { first: 'Ada' } } }, 'values'],
  ['elicitation/create', { action: 'accept', content: { tags: [1] } }, 'values'],
  ['sampling/createMessage', { action: 'accept' }, 'role'],
  ['sampling/createMessage', { role: 'assistant', content: { type: 'text' } }, 'model'],
  ['sampling/createMessage', { role: 'assistant', model: 'm', content: 'hi' }, 'content'],
  ['sampling/createMessage', { role: 'assistant', model: 'm', content: [] }, 'content'],
  ['roots/list', { action: 'accept' }, 'roots'],
  ['roots/list', { roots: [{ uri: 'https://example.com/' }] }, 'file:'],
  ['roots/list', { roots: ['file:///srv'] }, 'file:'],
] as const)('%s may not be answered with %j.', (method, answer, why) => {
  expect(answerProblem(method, answer)).toContain(why);
});

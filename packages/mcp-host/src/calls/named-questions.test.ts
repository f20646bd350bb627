import { expect, it } from 'vitest';
import { withNamedQuestions } from './named-questions.ts';

it('names the server in each question for people, and changes nothing else', () => {
  const ask = (message: string) => ({ method: 'elicitation/create', params: { message, mode: 'form' } });
  const roots = { method: 'roots/list' };
  const result = {
    resultType: 'input_required',
    requestState: 's',
    inputRequests: { a: ask('Your key?'), b: roots },
  };
  expect(withNamedQuestions('files', result)).toEqual({
    ...result,
    inputRequests: { a: ask("The MCP server 'files' asks: Your key?"), b: roots },
  });
  const plain = { content: [], inputRequests: { a: ask('Your key?') } };
  expect(withNamedQuestions('files', plain)).toBe(plain);
});

it('shows what nobody sees in a question and its form, and leaves the values that are sent back', () => {
  const schema = (text: string) => ({
    type: 'object',
    properties: { key: { type: 'string', title: text, enum: ['a\u200b'] } },
  });
  const ask = (message: string, requestedSchema: object) => ({
    resultType: 'input_required',
    inputRequests: { a: { method: 'elicitation/create', params: { message, requestedSchema } } },
  });
  expect(withNamedQuestions('files', ask('Key?\u202e', schema('K\u200bey')))).toEqual(
    ask("The MCP server 'files' asks: Key?\\u202e", schema('K\\u200bey')),
  );
  const deep = JSON.parse(`${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`);
  expect(withNamedQuestions('files', ask('Key?', deep))).toHaveProperty('inputRequests.a.params.message');
});

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

import { expect, test } from 'vitest';
import { hrefOf, parseRoute } from './route.ts';

test('The parts of an address are read from it, with any letters in them.', () => {
  const params = { agent: 'a&b=c#d?', text: '<b>%41</b>' };
  expect(parseRoute(hrefOf('timeline', { ...params, tool: undefined, id: '' }))).toEqual({
    view: 'timeline',
    params,
  });
  expect(parseRoute('')).toEqual({ view: '', params: {} });
  expect(parseRoute('#/dead')).toEqual({ view: 'dead', params: {} });
});

import { expect, test } from 'vitest';
import { hrefOf, parseRoute } from './route.ts';

test('What an address is made of is read from it, whatever letters it has.', () => {
  const params = { agent: 'a&b=c#d?', text: '<b>%41</b>' };
  expect(parseRoute(hrefOf('timeline', { ...params, tool: undefined, id: '' }))).toEqual({
    view: 'timeline',
    params,
  });
  expect(parseRoute('')).toEqual({ view: '', params: {} });
  expect(parseRoute('#/dead')).toEqual({ view: 'dead', params: {} });
});

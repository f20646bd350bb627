import { expect, test } from 'vitest';
import { type RankedTool, ranked } from './tool-ranking.ts';

test('Tools are ranked by what is asked for, and the rest of the tools, which is none, comes last.', () => {
  const of = (name: string, calls: number, errors: number): RankedTool => {
    const [server = '', tool = ''] = name.split(':');
    return { name, server, tool, calls, errors, bytes: 0 };
  };
  const tools = [of('other:other', 90, 9), of('files:read', 5, 0), of('other:say', 7, 1)];
  const names = (by: 'calls' | 'errors') => ranked(tools, by).map(({ name }) => name);
  expect(names('calls')).toEqual(['other:say', 'files:read', 'other:other']);
  expect(names('errors')).toEqual(['other:say', 'files:read', 'other:other']);
});

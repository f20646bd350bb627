import { expect, it } from 'vitest';
import { askBody } from './ask-body.ts';

it('asks with the texts of a message, and with its parts as they came if one is no text', () => {
  const ask = (parts: unknown[]) => askBody(JSON.stringify({ parts }));
  expect(ask([{ text: 'first' }, { text: 'second' }])).toBe('first\n\nsecond');
  expect(ask([{ text: '' }])).toBe('');
  const mixed = [{ text: 'look at' }, { url: 'https://example.org/a.png' }, { data: { n: 1 } }];
  expect(ask(mixed)).toEqual({ parts: mixed });
  expect(ask([{ data: null }])).toEqual({ parts: [{ data: null }] });
});

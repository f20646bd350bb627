import { expect, it } from 'vitest';
import { written } from './written.ts';

it('writes values with their units, and a dash where there is none', () => {
  const values = [
    written(null, 'bytes'),
    written(undefined, 'number'),
    written(0, 'a minute'),
    written(0.25, 'a minute'),
    written(12_345.6, 'number'),
    written(0.0123, 'seconds'),
    written(4.2, 'seconds'),
    written(600, 'seconds'),
    written(2048, 'bytes'),
    written(2048, 'bytes a minute'),
  ];
  expect(values).toEqual([
    '–',
    '–',
    '0 a minute',
    '0.3 a minute',
    '12,346',
    '12 ms',
    '4.2 s',
    '10 min',
    '2.0 KiB',
    '2.0 KiB a minute',
  ]);
});

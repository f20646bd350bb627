import { expect, it } from 'vitest';
import { IdRanges } from './id-ranges.ts';

it('rules out what lies outside of the ids with the same prefix', () => {
  const ranges = new IdRanges();
  for (const id of ['0aa5', '0aa9', 're:0aa7', 'x']) ranges.add(id);
  for (const id of ['0aa5', '0aa7', '0aa9', 're:0aa7', 'x']) expect(ranges.mayHold(id), id).toBe(true);
  for (const id of ['0aa4', '0aaA', '0ab6', 're:0aa8', 're:', 'xy', 'a', ''])
    expect(ranges.mayHold(id), id).toBe(false);
});

it('never rules out an id that was added, with any number of prefixes', () => {
  const ids = Array.from({ length: 500 }, (_, i) => `${((i * 7919) % 500).toString(36)}${i}`);
  const ranges = new IdRanges();
  for (const id of ids) ranges.add(id);
  expect(ids.filter((id) => !ranges.mayHold(id))).toEqual([]);
  expect(ranges.mayHold('~')).toBe(false);
});

it('takes in all that another one may hold', () => {
  const few = new IdRanges();
  for (const id of ['bb-1', 'bb-9']) few.add(id);
  const many = new IdRanges();
  for (let i = 100; i < 300; i++) many.add(`${i}`);
  const both = new IdRanges();
  both.include(few);
  expect(both.mayHold('bb-5')).toBe(true);
  expect(both.mayHold('150')).toBe(false);
  both.include(many);
  for (const id of ['bb-5', '100', '150', '299']) expect(both.mayHold(id), id).toBe(true);
});

import { expect, it } from 'vitest';
import { SharedRoom } from './shared-room.ts';

const open = (each: number, all: number) =>
  new SharedRoom({ bytes: { each, all }, calls: { each: 2, all: 100 } });

it('gives each owner room up to its own limit, and again what it gave back', () => {
  const room = open(10, 1000);
  expect(room.take('a', { bytes: 10, calls: 1 })).toBeUndefined();
  expect(room.take('a', { bytes: 1 })).toEqual({ unit: 'bytes', of: 'each', limit: 10, isFinal: false });
  expect(room.take('b', { bytes: 10 })).toBeUndefined();
  room.giveBack('a', { bytes: 4 });
  expect(room.take('a', { bytes: 4 })).toBeUndefined();
  expect(room.held('bytes')).toBe(20);
});

it('takes nothing of any unit if one of them does not fit', () => {
  const room = open(10, 1000);
  room.take('a', { calls: 2 });
  expect(room.take('a', { bytes: 5, calls: 1 })).toMatchObject({ unit: 'calls', limit: 2 });
  expect(room.held('bytes')).toBe(0);
});

it('lets an owner hold at most as much as is left, so that greedy ones leave room for others', () => {
  const room = open(1000, 1000);
  const taken = [1, 2, 3, 4, 5].map((n) => {
    let bytes = 0;
    while (!room.take(`greedy-${n}`, { bytes: 1 })) bytes++;
    return bytes;
  });
  expect(taken).toEqual([500, 250, 125, 63, 31]);
  expect(room.take('greedy-1', { bytes: 1 })).toEqual({
    unit: 'bytes',
    of: 'all',
    limit: 1000,
    isFinal: false,
  });
  expect(room.take('modest', { bytes: 10 })).toBeUndefined();
});

it('says whether something could never fit', () => {
  expect(open(10, 1000).take('a', { bytes: 11 })).toMatchObject({ of: 'each', isFinal: true });
  expect(open(10, 5).take('a', { bytes: 6 })).toMatchObject({ of: 'all', limit: 5, isFinal: true });
  expect(open(10, 5).take('a', { bytes: 5 })).toBeUndefined();
});

it('counts what is held already beyond the limits, and then has no room', () => {
  const room = open(10, 1000);
  room.hold('a', { bytes: 25 });
  expect(room.take('a', { bytes: 1 })).toMatchObject({ of: 'each', limit: 10 });
  expect(room.take('b', { bytes: 10 })).toBeUndefined();
  room.giveBack('a', { bytes: 25 });
  expect(room.take('a', { bytes: 10 })).toBeUndefined();
});

it('forgets an owner that holds nothing', () => {
  const room = open(10, 20);
  for (let n = 0; n < 3; n++) {
    expect(room.take('a', { bytes: 10, calls: 2 })).toBeUndefined();
    room.giveBack('a', { bytes: 10, calls: 2 });
  }
  room.giveBack('nobody', { bytes: 5 });
  expect(room.held('bytes')).toBe(0);
});

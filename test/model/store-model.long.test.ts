import { expect, it } from 'vitest';
import { counterexample, modelSettings } from './model-settings.ts';
import { storeOps } from './store-model.ts';
import { agrees, type Room } from './store-under-test.ts';

// All messages in the memtable, each one in a segment at once, and on the way between, with segments of one message and of many.
const rooms: [...Room][] = [
  [1000, 64],
  [0, 1],
  [4, 2],
  [0, 64],
  [4, 64],
];

it.each(rooms)(
  'the SQLite store agrees with the model over random sequences of commits, restarts and time, with %d messages in the memtable and %d in a segment',
  async (...room) => {
    expect(await counterexample(storeOps, (ops) => agrees(ops, room), modelSettings(40))).toBeUndefined();
  },
);

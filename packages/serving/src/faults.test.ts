import { expect, it } from 'vitest';
import { faultAt, faultPoints } from './faults.ts';

function passings(setting: string, points: readonly string[]): number[] {
  const struck: number[] = [];
  let at = 0;
  const fault = faultAt(setting, () => struck.push(at));
  for (at = 1; at <= points.length; at++) fault(points[at - 1]!);
  return struck;
}

it('strikes once, at the passing that the setting names, and at no other point', () => {
  const points = ['broker.push.before', 'broker.push.after', 'broker.push.before', 'broker.push.before'];
  expect(passings('broker.push.before', points)).toEqual([1]);
  expect(passings('broker.push.before:2', points)).toEqual([3]);
  expect(passings('broker.push.after:2', points)).toEqual([]);
});

it('knows every point by its name, and refuses a setting that could never strike', () => {
  for (const point of faultPoints) expect(passings(`${point}:1`, [point])).toEqual([1]);
  for (const setting of [
    '',
    'broker.push',
    'broker.push.before:0',
    'broker.push.before:x',
    'broker.push.before:1:2',
  ]) {
    expect(() => faultAt(setting, () => {})).toThrow(/^SIGNALBOX_FAULT: /);
  }
});

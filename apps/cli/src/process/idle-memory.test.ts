import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { IdleMemoryRule } from './idle-memory.ts';

const grown = { usedMs: 1, heapBytes: 40e6, olderBytes: 20e6 };

test('Memory is given back at the second look in a row at which a process rests.', () => {
  const rule = new IdleMemoryRule();
  const looks = [grown, { ...grown, usedMs: 200 }, grown, grown];
  expect(looks.map((look, at) => rule.isDue(look, at * 1000))).toEqual([false, false, false, true]);
});

test('After a collection nothing happens until the heap has grown by 8 MB.', () => {
  const rule = new IdleMemoryRule();
  rule.collected({ heapBytes: 30e6, usedMs: 0 }, 0);
  const isDue = (heapBytes: number) =>
    [1, 2].map((at) => rule.isDue({ ...grown, heapBytes }, at * 1000)).includes(true);
  expect(isDue(37e6)).toBe(false);
  expect(isDue(38e6)).toBe(true);
});

test('Collections take at most a hundredth of the time.', () => {
  const rule = new IdleMemoryRule();
  rule.collected({ heapBytes: 0, usedMs: 50 }, 10_000);
  rule.isDue(grown, 13_999);
  expect(rule.isDue(grown, 14_999)).toBe(false);
  expect(rule.isDue(grown, 15_000)).toBe(true);
});

test('A heap whose collection would hold the process up for long is left alone.', () => {
  const rule = new IdleMemoryRule();
  const large = { ...grown, heapBytes: 200e6, olderBytes: 65e6 };
  expect([1, 2, 3].map((at) => rule.isDue(large, at * 1000))).toEqual([false, false, false]);
});

test('A process that made garbage gives its memory back when it rests, and can be disposed.', () => {
  const file = new URL('./idle-memory.ts', import.meta.url);
  const script = `
    import { returnIdleMemory } from '${file}';
    let garbage = Array.from({ length: 300_000 }, (_, at) => ({ at }));
    const running = setInterval(() => {}, 1000);
    const memory = returnIdleMemory((collection) => {
      console.log(JSON.stringify(collection));
      memory[Symbol.dispose]();
      clearInterval(running);
    }, { lookMs: 50 });
    garbage = undefined;
  `;
  const { status, stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    timeout: 30_000,
  });
  expect(status).toBe(0);
  const { before_bytes: before, after_bytes: after } = JSON.parse(stdout);
  expect(before - after).toBeGreaterThan(8e6);
});

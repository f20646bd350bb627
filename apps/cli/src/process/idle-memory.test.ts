import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { IdleMemoryRule, restingLooks } from './idle-memory.ts';

const grown = { usedMs: 1, heapBytes: 40e6, olderBytes: 20e6 };

/** Looks at a process at rest once more than it takes, and returns whether a collection is due at the end. */
function isDueAtRest(rule: IdleMemoryRule, look = grown, fromMs = 0): boolean {
  const looks = Array.from({ length: restingLooks }, (_, at) => rule.isDue(look, fromMs + at * 1000));
  expect(looks.slice(0, -1)).not.toContain(true);
  return looks.at(-1)!;
}

test('Memory is given back when a process has rested at a minute of looks in a row.', () => {
  const rule = new IdleMemoryRule();
  for (let at = 1; at < restingLooks; at++) rule.isDue(grown, at * 1000);
  expect(rule.isDue({ ...grown, usedMs: 200 }, restingLooks * 1000)).toBe(false);
  expect(isDueAtRest(rule)).toBe(true);
});

test('After a collection nothing happens until the heap has grown by 8 MB.', () => {
  const isDue = (heapBytes: number) => {
    const rule = new IdleMemoryRule();
    rule.collected({ heapBytes: 30e6, usedMs: 0 }, 0);
    return isDueAtRest(rule, { ...grown, heapBytes });
  };
  expect(isDue(37e6)).toBe(false);
  expect(isDue(38e6)).toBe(true);
});

test('Collections take at most a hundredth of the time.', () => {
  const rule = new IdleMemoryRule();
  rule.collected({ heapBytes: 0, usedMs: 900 }, 10_000);
  expect(isDueAtRest(rule, grown, 10_000)).toBe(false);
  expect(rule.isDue(grown, 99_999)).toBe(false);
  expect(rule.isDue(grown, 100_000)).toBe(true);
});

test('A heap whose collection would hold the process up for long is left alone.', () => {
  const large = { ...grown, heapBytes: 200e6, olderBytes: 97e6 };
  expect(isDueAtRest(new IdleMemoryRule(), large)).toBe(false);
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
    }, { lookMs: 10 });
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

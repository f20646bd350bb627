import { mkdtempSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ImportReadings } from './import-readings.ts';

let directory: string;
let file: string;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  // A file that has just changed may change again within the same tick.
  vi.setSystemTime(Date.now() + 10_000);
  directory = mkdtempSync(join(tmpdir(), 'signalbox-readings-'));
  file = join(directory, 'mcp.json');
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true });
});

/** Writes the file as it would have been written an hour ago. */
function write(command: string, minutes: number): void {
  writeFileSync(`${file}.new`, JSON.stringify({ mcpServers: { a: { command } } }));
  utimesSync(`${file}.new`, 1_000_000, 1_000_000 + minutes * 60);
  renameSync(`${file}.new`, file);
}

const path = () => ({ file, pointer: [] });

test('A file that was replaced is read again, and one that is the same file is not.', async () => {
  using readings = new ImportReadings(() => {});
  write('x', 1);
  await readings.refresh([path()]);
  const first = readings.get(file, [[]]);
  expect(first).toMatchObject({ text: '{"mcpServers":{"a":{"command":"x"}}}' });
  await readings.refresh();
  expect(readings.get(file, [[]])).toBe(first);
  write('y', 1);
  await readings.refresh();
  expect(readings.stateOf(file)).not.toBe(first.state);
});

test('Other parts of a known file are read when they are asked for.', async () => {
  using readings = new ImportReadings(() => {});
  writeFileSync(file, JSON.stringify({ projects: { x: { mcpServers: {} } } }));
  await readings.refresh([path()]);
  expect(readings.get(file, [[], ['projects', 'x']])).toMatchObject({
    text: '{"projects":{"x":{"mcpServers":{}}}}',
  });
});

test('A file is lost after it has been gone for a minute on end.', async () => {
  let lost = 0;
  using readings = new ImportReadings(() => lost++);
  write('x', 1);
  await readings.refresh([path()]);
  expect(readings.isGone(file, 'now')).toBe(false);
  rmSync(file);
  await readings.refresh();
  vi.advanceTimersByTime(59_999);
  await readings.refresh();
  expect([readings.isGone(file, 'now'), readings.isGone(file, 'for a minute'), lost]).toEqual([
    true,
    false,
    0,
  ]);
  write('x', 2);
  await readings.refresh();
  vi.advanceTimersByTime(60_000);
  expect([readings.isGone(file, 'now'), lost]).toEqual([false, 0]);
  rmSync(file);
  await readings.refresh();
  vi.advanceTimersByTime(60_000);
  expect([readings.isGone(file, 'for a minute'), lost]).toEqual([true, 1]);
});

test('A file that is no longer named, or whose readings have ended, is not waited for.', async () => {
  let lost = 0;
  using readings = new ImportReadings(() => lost++);
  await readings.refresh([path()]);
  expect(readings.isGone(file, 'now')).toBe(true);
  readings.keepOnly([]);
  expect(readings.stateOf(file)).toBeUndefined();
  readings[Symbol.dispose]();
  await readings.refresh([path()]);
  vi.advanceTimersByTime(60_000);
  expect(lost).toBe(0);
});

import { expect, test } from 'vitest';
import { relayProgress, type ToolProgress } from './tool-call.ts';

/** Returns what is passed on of a report. */
function passedOn(body: unknown): ToolProgress[] {
  const passed: ToolProgress[] = [];
  relayProgress(body, (progress) => passed.push(progress));
  return passed;
}

test('Progress is passed on with the fields that MCP knows, and without those of another type.', () => {
  const whole = { progress: 1, total: 2, message: 'half', _meta: { step: 1 } };
  expect(passedOn(whole)).toEqual([whole]);
  expect(
    passedOn({ progress: 1, total: 'two', message: { text: 'half' }, _meta: 'x', progressToken: 7 }),
  ).toEqual([{ progress: 1 }]);
  expect(passedOn({ progress: 1, message: 'x'.repeat(5000) })[0]?.message).toHaveLength(4096);
});

test('A report that is no progress is dropped.', () => {
  for (const body of [null, 'half', [1], {}, { progress: '1' }, { progress: null }])
    expect(passedOn(body)).toEqual([]);
});

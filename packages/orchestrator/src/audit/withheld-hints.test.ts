import type { WithheldHints } from '@signalbox/mcp-host';
import { frameLimits } from '@signalbox/protocol';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { auditWithheldHints } from './withheld-hints.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Makes a host that withholds the hints that the test names, and collects the reports of that. */
function ports() {
  const reported: string[] = [];
  let onHints = (_hints: WithheldHints[]) => {};
  const host = {
    onHintsWithheld(listener: typeof onHints) {
      onHints = listener;
      return () => {};
    },
  };
  const trail = { record: ({ detail }: { detail: string }) => void reported.push(detail) };
  auditWithheldHints(trail, host, () => performance.now());
  return {
    reported,
    withhold: (...tools: string[]) =>
      onHints(tools.map((tool) => ({ server: 's', tool, hints: ['readOnlyHint'] }))),
  };
}

it('reports each change at once, but of a server that never stops changing only so much', () => {
  const { reported, withhold } = ports();
  for (let i = 0; i < 1000; i++) withhold(`tool_${i}`);
  expect(reported).toHaveLength(10);
  expect(reported[0]).toBe("tool_0 of server 's': readOnlyHint");
  vi.advanceTimersByTime(10 * 60_000);
  expect(reported).toHaveLength(11);
  expect(reported[10]).toMatch(/^tool_10 of .*; and \d+ more$/);
  withhold('later');
  expect(reported.at(-1)).toBe("later of server 's': readOnlyHint");
});

it('names the tools that fit into one entry, and counts all others', () => {
  const { reported, withhold } = ports();
  withhold(...Array.from({ length: 1000 }, (_, k) => `tool_${k}`));
  expect(reported).toHaveLength(1);
  expect(reported[0]!.length).toBeLessThanOrEqual(frameLimits.auditDetailLength);
  const named = reported[0]!.split('; ').length - 1;
  expect(named).toBeGreaterThan(5);
  expect(reported[0]).toMatch(new RegExp(`; and ${1000 - named} more$`));
});

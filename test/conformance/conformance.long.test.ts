import { expect, test } from 'vitest';
import { expectedFailures } from '../support/conformance/expected-failures.ts';
import { judgeRun } from '../support/conformance/judgement.ts';
import { runWay } from '../support/conformance/run-way.ts';

// All ways, the reference server without us, and the checks of tasks, which take their time: npm run test:conformance.
const suites: { revision: Parameters<typeof runWay>[1]; passes: number }[] = [
  { revision: '2025-11-25', passes: 82 },
  { revision: '2026-07-28', passes: 152 },
];

test.each(suites)(
  '$passes checks of the official suite for $revision pass through the HTTP face, and no others fail than are expected to.',
  async ({ revision, passes }) => {
    const way = 'http 2026';
    const all = await runWay(way, revision, { slow: false });
    const checks = new Map([...all].filter(([check]) => !check.startsWith('tasks-')));
    const { passed, unexpected } = judgeRun({ revision, way, checks }, new Map(), expectedFailures);
    expect(unexpected).toEqual([]);
    expect(passed).toBe(passes);
  },
);

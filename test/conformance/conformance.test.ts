import { expect, test } from 'vitest';
import { expectedFailures } from '../support/conformance/expected-failures.ts';
import { judgeRun } from '../support/conformance/judgement.ts';
import { runWay } from '../support/conformance/run-way.ts';

// All ways, and the reference server without us: npm run test:conformance. Of the 84 and 164 checks that pass there, as many pass here.
test.each([
  { revision: '2025-11-25', passes: 78 },
  { revision: '2026-07-28', passes: 164 },
] as const)(
  '$passes checks of the official suite for $revision pass through the HTTP face, and no others fail than are expected to.',
  async ({ revision, passes }) => {
    const way = 'http 2026';
    const checks = await runWay(way, revision);
    const { passed, unexpected } = judgeRun({ revision, way, checks }, new Map(), expectedFailures);
    expect(unexpected).toEqual([]);
    expect(passed).toBe(passes);
  },
);

import { test } from 'vitest';
import { expectTruth } from '../support/orchestrator/journal-crashes.ts';

// All points: journal-crashes.long.test.ts.
test('if the orchestrator dies before, in or after a call that is not safe to repeat, that runs once at most, and its caller learns the truth', () =>
  expectTruth(['orchestrator.journal.started', 'orchestrator.call.returned', 'orchestrator.reply.before']));

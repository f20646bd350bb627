import type { LastStep } from '../step.ts';

/** Ends a round of a task like the one before it, without calling anything. The answers that have come are kept with its reply. */
export const keptAnswers: LastStep = {
  make:
    () =>
    async ({ taskRound }) => ({ result: taskRound?.waiting?.input_required ?? {} }),
};

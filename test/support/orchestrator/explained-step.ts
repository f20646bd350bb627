import type { ExplainedStep } from '@signalbox/protocol';
import { expect } from 'vitest';

/** Matches the answer to op `explain` in which a step says this. */
export function explained(step: string, saying: Partial<Record<keyof ExplainedStep, unknown>>) {
  return expect.objectContaining({
    steps: expect.arrayContaining([expect.objectContaining({ step, ...saying })]),
  });
}

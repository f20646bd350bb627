import { z } from 'zod';

const maxNames = 64;

/** Accepts an object with any values under at most 64 names. */
export const boundedRecord = z
  .record(z.string(), z.unknown())
  .refine((value) => Object.keys(value).length <= maxNames, `must have at most ${maxNames} entries`);

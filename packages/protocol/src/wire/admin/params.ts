import { z } from 'zod';
import { frameLimits } from '../frame-limits.ts';

/** Makes the schema of a whole number; its refusal names the bounds. */
export function wholeNumber(min: number, max = Number.MAX_SAFE_INTEGER) {
  const upTo = max === Number.MAX_SAFE_INTEGER ? '' : ` to ${max}`;
  const error = `must be a whole number from ${min}${upTo}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
}

/** Makes the schema of a text that selects something; its refusal names the largest length. */
export function filterText() {
  const error = `must be a text of at most ${frameLimits.adminTextLength} characters`;
  return z.string({ error }).max(frameLimits.adminTextLength, { error });
}

/** Makes the schema of the number of entries of one page. */
export function pageLimit(defaultLimit: number) {
  return wholeNumber(1, frameLimits.adminItems).optional().describe(`Default: ${defaultLimit}.`);
}

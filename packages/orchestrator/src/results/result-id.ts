import { randomBytes } from 'node:crypto';

/** Makes the id of a kept result, 22 characters that nobody can guess. */
export function newResultId(): string {
  return randomBytes(16).toString('base64url');
}

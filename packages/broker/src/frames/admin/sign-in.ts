import type { AdminParams } from '@signalbox/protocol';
import { dashboardPath } from '@signalbox/protocol/internal';
import { signInCodeMs } from '../../auth/sign-in-codes.ts';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { OperationOutcome } from './operation.ts';

/** Runs `sign_in_link`: makes a code for a sign-in with the rights of the caller's token. */
export async function signInLink(
  _params: AdminParams<'sign_in_link'>,
  { signIns, reachedAt }: Pick<FrameDeps, 'signIns' | 'reachedAt'>,
  { token }: Caller,
): OperationOutcome<'sign_in_link'> {
  // A sign-in of a sign-in would continue when the token of the person is revoked.
  if (token.isSignIn) {
    const message = 'a sign-in to the dashboard makes no link for another one; use the token of the person';
    return { refusal: { code: 'forbidden', message, field: 'op' } };
  }
  const urls = reachedAt.origins.map((origin) => `${origin}${dashboardPath}`);
  return { result: { code: signIns.issue(token), expires_in_ms: signInCodeMs, urls } };
}

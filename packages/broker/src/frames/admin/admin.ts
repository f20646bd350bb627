import type { AdminFrame } from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Outcome, Refusal } from '../outcome.ts';
import { dropDead, listDead, retryDead, showDead } from './dead-letters.ts';
import type { Operation } from './operation.ts';
import { audit, history, stats } from './reports.ts';
import { tail } from './tail.ts';
import { issueToken, listTokens, revokeToken } from './tokens.ts';

/** The operations by name. `forMintingTokens` tells whether it is open to minting tokens too. */
const operations: Record<string, { forMintingTokens: boolean; run: Operation }> = {
  token_issue: { forMintingTokens: true, run: issueToken },
  token_list: { forMintingTokens: false, run: listTokens },
  token_revoke: { forMintingTokens: true, run: revokeToken },
  dead_list: { forMintingTokens: false, run: listDead },
  dead_show: { forMintingTokens: false, run: showDead },
  dead_retry: { forMintingTokens: false, run: retryDead },
  dead_drop: { forMintingTokens: false, run: dropDead },
  history: { forMintingTokens: false, run: history },
  audit: { forMintingTokens: false, run: audit },
  stats: { forMintingTokens: false, run: stats },
  tail: { forMintingTokens: false, run: tail },
};

/** Handles `admin`: runs an operation for the operator. A caller with a minting token may issue and revoke its own child tokens. */
export async function admin(frame: AdminFrame, caller: Caller, deps: FrameDeps): Promise<Outcome> {
  const { op, params = {}, request_id } = frame;
  const operation = Object.hasOwn(operations, op) ? operations[op] : undefined;
  if (!caller.isOperator && !caller.mintsOnly)
    return refuse('forbidden', `'${op}' needs the operator's token`);
  if (!operation) {
    const known = Object.keys(operations).join(', ');
    return refuse('unknown_op', `unknown operation '${op}'; known: ${known}`);
  }
  if (!caller.isOperator && !operation.forMintingTokens) {
    return refuse('forbidden', `a minting token may not '${op}'`);
  }
  const outcome = await operation.run(params, deps, caller);
  if ('refusal' in outcome) return outcome;
  return { answer: { type: 'admin_result', request_id, result: outcome.result } };
}

function refuse(code: Refusal['code'], message: string): Outcome {
  return { refusal: { code, message, field: 'op' } };
}

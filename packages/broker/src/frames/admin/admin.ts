import type { AdminFrame } from '@signalbox/protocol';
import type { Caller } from '../caller.ts';
import type { FrameDeps } from '../frame-deps.ts';
import type { Outcome, Refusal } from '../outcome.ts';
import { dropDead, listDead, retryDead, showDead } from './dead-letters.ts';
import type { Operation } from './operation.ts';
import { audit, history, stats } from './reports.ts';
import { tail } from './tail.ts';
import { issueToken, listTokens, revokeToken } from './tokens.ts';

/** `mint`: open to minting tokens too. */
const operations: Record<string, { mint: boolean; run: Operation }> = {
  token_issue: { mint: true, run: issueToken },
  token_list: { mint: false, run: listTokens },
  token_revoke: { mint: true, run: revokeToken },
  dead_list: { mint: false, run: listDead },
  dead_show: { mint: false, run: showDead },
  dead_retry: { mint: false, run: retryDead },
  dead_drop: { mint: false, run: dropDead },
  history: { mint: false, run: history },
  audit: { mint: false, run: audit },
  stats: { mint: false, run: stats },
  tail: { mint: false, run: tail },
};

/** Handles `admin`, which is for the operator, and for a minting token as far as its own children go. */
export async function admin(frame: AdminFrame, caller: Caller, deps: FrameDeps): Promise<Outcome> {
  const { op, params = {}, request_id } = frame;
  const operation = Object.hasOwn(operations, op) ? operations[op] : undefined;
  if (!caller.isOperator && !caller.mintsOnly)
    return refuse('forbidden', `'${op}' needs the operator's token`);
  if (!operation) {
    const known = Object.keys(operations).join(', ');
    return refuse('unknown_op', `unknown operation '${op}'; known: ${known}`);
  }
  if (!caller.isOperator && !operation.mint) {
    return refuse('forbidden', `a minting token may not '${op}'`);
  }
  const outcome = await operation.run(params, deps, caller);
  if ('refusal' in outcome) return outcome;
  return { answer: { type: 'admin_result', request_id, result: outcome.result } };
}

function refuse(code: Refusal['code'], message: string): Outcome {
  return { refusal: { code, message, field: 'op' } };
}

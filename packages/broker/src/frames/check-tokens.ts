import type { CheckTokensFrame } from '@signalbox/protocol';
import type { Caller } from './caller.ts';
import type { FrameDeps } from './frame-deps.ts';
import { forOrchestrators, type Outcome } from './outcome.ts';

/**
 * Handles `check_tokens`: tells an orchestrator which minting tokens issued the tokens of agents, and whether tokens may still decide on
 * tool calls.
 */
export function checkTokens(
  { type, request_id, agents = [], deciders = [] }: CheckTokensFrame,
  { sender }: Caller,
  { tokens }: Pick<FrameDeps, 'tokens'>,
): Outcome {
  if (sender.role !== 'orchestrator') return { refusal: forOrchestrators(type, sender.role) };
  const answer = {
    type: 'tokens_checked' as const,
    request_id,
    minters: agents.map((agent) => tokens.minterOf(agent) ?? ''),
    decide: deciders.map(({ token_id, role }) => tokens.mayDecide(token_id, role)),
  };
  return { answer };
}

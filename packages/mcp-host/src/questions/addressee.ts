import type { QuestionMethod } from '@signalbox/protocol';
import { type Askable, canAnswer } from './askable.ts';

/** A question that a server asks its client. */
export interface ServerQuestion {
  method: QuestionMethod;
  params: Record<string, unknown>;
}

/** A running call on the server that asks. */
export interface AskableBy {
  /** The agent that made it; `undefined` for a call from code of the gateway. */
  readonly agent: string | undefined;
  readonly askable: Askable;
}

/** The reason why no caller is asked. */
export type NobodyAsked = 'no_call' | 'several_agents' | 'earlier_call' | 'not_able';

/**
 * Returns the call whose caller is asked, or the reason why none is. Older revisions do not say to which call a question belongs.
 *
 * The newest call whose client can answer is asked. In an instance that several agents share, there must be no doubt about the caller: all
 * running calls are those of one agent, and no call of another one was given up lately, which the server may still work on.
 */
export function addresseeOf<Call extends AskableBy>(
  { method, params }: ServerQuestion,
  calls: readonly Call[],
  { isShared, givenUpBy }: { isShared: boolean; givenUpBy: readonly (string | undefined)[] },
): Call | NobodyAsked {
  const newest = calls.at(-1);
  if (!newest) return 'no_call';
  if (isShared && calls.some(({ agent }) => agent !== newest.agent)) return 'several_agents';
  if (isShared && givenUpBy.some((agent) => agent !== newest.agent)) return 'earlier_call';
  return calls.findLast(({ askable }) => canAnswer(askable, method, params)) ?? 'not_able';
}

import type { handBack } from '@signalbox/client';
import type { ToolCallResult } from '@signalbox/mcp-host/tool-calls';
import { mayRepeat, repeatOverrideOf } from '@signalbox/protocol';
import type { TaskRound } from '../tasks/task-call.ts';
import type { IncomingCall } from './incoming-call.ts';
import { type RunCallDeps, runCall } from './run-call.ts';

/** A call that another process may have started. */
export interface LostCall {
  tool: string;
  /** True if it waited for a decision. */
  wasAsked: boolean;
  /** True if its start is in the journal. */
  isStarted: boolean;
}

/** The rules of making calls of one kind. */
export interface CallKind {
  run(deps: RunCallDeps, call: IncomingCall): Promise<ToolCallResult | typeof handBack>;
  /** Tells whether a call may be made although another process may have started it. */
  mayRunAgain(deps: RunCallDeps, call: LostCall): Promise<boolean>;
  /** Set if the call is a round of a task. */
  taskRound?: TaskRound | undefined;
}

/** Calls of the tools of hosted servers. */
export const hostedToolCalls: CallKind = {
  run: runCall,
  /**
   * Decides by the present catalog. A call that waited for a decision is made once, regardless of its tool's declarations, and so is one
   * whose tool is gone. A call has a start in the journal because its tool was not safe then: later declarations of its server do not
   * count.
   */
  async mayRunAgain({ catalogs }, { tool: name, wasAsked, isStarted }) {
    if (wasAsked) return false;
    const tool = (await catalogs.current()).tool(name);
    if (!tool) return false;
    return isStarted ? repeatOverrideOf(tool) === 'safe' : mayRepeat(tool, true);
  },
};

import type { ServeAnswer } from '@signalbox/client';
import { mayRepeat, repeatOverrideOf } from '@signalbox/protocol';
import type { Call } from '../call.ts';
import { outcomeUnknown } from '../call-outcome.ts';
import type { CallDeps, Step } from '../step.ts';

/** Ends a call that another process may have started with the error `outcome_unknown`, unless it may be made again. */
export const lostCall: Step<ServeAnswer> = {
  name: 'lost call',
  explain({ repeat }) {
    if (!repeat) return { verdict: 'passes', says: 'the tool is unknown' };
    const says = {
      safe: 'a call that a crash interrupted is made again',
      unsafe: 'a call that a crash interrupted ends as outcome_unknown',
      unless_asked: 'a call that a crash interrupted is made again, unless a person was asked about it',
    }[repeat.repeat];
    const verdict = repeat.repeat === 'unless_asked' ? 'depends' : 'passes';
    return { verdict, says, rule: repeat.repeat_rule };
  },
  before(next, deps) {
    const find = async (call: Call): Promise<ServeAnswer> => {
      call.asked = await deps.approvals?.of(call.name);
      if (!call.known && !(await mayRunAgain(deps, call))) {
        call.known = { error: outcomeUnknown(call.name.requestId) };
      }
      return await next(call);
    };
    return (call) => (call.isForeign || call.journaled?.earlier?.wasStarted ? find(call) : next(call));
  },
};

/**
 * Decides by the present catalog. A call that waited for a decision is made once, regardless of its tool's declarations, and so is one whose
 * tool is gone. A call has a start in the journal because its tool was not safe then: later declarations of its server do not count.
 */
async function mayRunAgain({ catalogs }: CallDeps, { name, asked, journaled }: Call): Promise<boolean> {
  if (asked) return false;
  const tool = (await catalogs.current()).tool(name.tool);
  if (!tool) return false;
  return journaled?.earlier?.wasStarted ? repeatOverrideOf(tool) === 'safe' : mayRepeat(tool, true);
}

import type { ToolCallError } from '@signalbox/protocol';
import type { Call } from '../call.ts';
import { readArguments } from '../call-arguments.ts';
import { largeLength } from '../large-slices.ts';
import type { Attempt, CallDeps, Step } from '../step.ts';
import { chargeOf } from './budget.ts';

/**
 * Checks the arguments of a call and rewrites them as the server gets them, before anything else looks at them. A refused call counts
 * against its budget.
 */
export const checkedArguments: Step<Attempt> = {
  name: 'arguments',
  explain({ read }) {
    if (!read)
      return { verdict: 'depends', says: 'they must fit the schema of the tool; the question gives none' };
    if (read.error) return { verdict: 'refused', says: read.error.message };
    const says = read.isRewritten
      ? 'they fit the schema of the tool in another form, in which rules, people and the server get them'
      : 'they fit the schema of the tool';
    return { verdict: 'passes', says };
  },
  before(next, deps) {
    const readNow = (call: Call): ReturnType<typeof next> => {
      const refusal = read(deps, call);
      return refusal ? { error: refusal } : next(call);
    };
    // Large requests are read one after the other, so that they hold up no others for long.
    const readInTurn = async (call: Call): Promise<Attempt> => {
      const endSlice = await deps.reading.next();
      let refusal: ToolCallError | undefined;
      try {
        refusal = read(deps, call);
      } finally {
        endSlice();
      }
      return refusal ? { error: refusal } : await next(call);
    };
    return (call) =>
      (call.request.message.body?.length ?? 0) > largeLength ? readInTurn(call) : readNow(call);
  },
};

/** Reads the arguments of a call. Returns the reason why it is refused, if it is. */
function read(deps: CallDeps, call: Call): ToolCallError | undefined {
  const { slot, body, isCompared } = call;
  // A call that waited before has given up its room.
  const full = !isCompared && typeof body.arguments === 'string' ? slot.take(body.arguments) : undefined;
  if (full) return full;
  // A running call continues as it began, and one that waited before is told what became of it.
  const how = { asWritten: isCompared || call.isContinued };
  const found = readArguments(deps.host, call.route, body.arguments, how);
  if (found.error) return chargeOf(deps, call).refusal ?? found.error;
  call.read = found;
  // A text that became a list may hold far more values than the request that was counted.
  return found.isRewritten && !isCompared ? slot.take(JSON.stringify(found.args)) : undefined;
}

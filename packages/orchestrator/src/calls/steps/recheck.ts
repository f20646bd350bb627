import { type ToolCallError, toolCallError } from '@signalbox/protocol';
import type { Catalog } from '../../catalog/catalog.ts';
import { stoppedByHold } from '../../holds/hold-errors.ts';
import { type Call, continuesRunning, subjectOf } from '../call.ts';
import { readArguments } from '../call-arguments.ts';
import { endedInLeap } from '../leapt-deadline.ts';
import type { Attempt, CallDeps, Step } from '../step.ts';
import { admit } from '../tool-refusals.ts';
import { barredMeanwhile } from './approval.ts';

/**
 * Judges a call whose turn has come by the catalog and the holds of that moment: allowlist, hold, and, if its tool may have changed,
 * arguments and approval. From here on a hold can cancel it.
 */
export const recheck: Step<Attempt> = {
  name: 'recheck',
  explain: () => ({
    verdict: 'passes',
    says: 'when its turn comes, a call passes the steps from hold to approval again if they have changed',
  }),
  before(next, deps) {
    const { catalogs, holds, now, monotonic } = deps;
    return async (call) => {
      const { request } = call;
      const catalog = catalogs.latest ?? (await catalogs.current());
      const isSame = catalog === call.catalog && call.approval === undefined && call.tool !== undefined;
      const refusal = isSame ? undefined : admitAgain(deps, call, catalog);
      if (refusal) return { error: refusal };
      call.subject = subjectOf(call, catalog);
      if (holds.on(call.subject)) return { onHold: call.subject };
      request.started();
      const barring = isSame ? undefined : compareAgain(deps, call);
      if (barring) return { error: barring };
      const moment = { wall: now(), monotonic: monotonic() };
      if (endedInLeap(call.arrived, moment, () => request.remainingMs()))
        return { error: endedWhileWaiting() };
      const running = holds.runs(request, call.subject);
      try {
        return withHold(deps, call, await next(call));
      } finally {
        holds.ended(running);
      }
    };
  },
};

function admitAgain({ host }: CallDeps, call: Call, catalog: Catalog): ToolCallError | undefined {
  const { role, tool: name } = call.name;
  const { tool, refusal } = admit(catalog, role, name, { runs: continuesRunning(host, call) });
  call.catalog = catalog;
  call.tool = tool;
  return refusal;
}

/** Returns the reason why an admitted call may not start: its arguments do not fit the tool any more, or rules have changed. */
function compareAgain(deps: CallDeps, call: Call): ToolCallError | undefined {
  const { host } = deps;
  const { body, name } = call;
  call.route = host.route(name.tool);
  call.server = call.route.server;
  const { fits } = call.read;
  const isChecked = fits !== undefined && fits === call.route.target?.tool;
  const how = { asWritten: continuesRunning(host, call) };
  const present = isChecked ? call.read : readArguments(host, call.route, body.arguments, how);
  if (present.error) return present.error;
  call.read = present;
  return call.onlyContinues ? undefined : barredMeanwhile(deps, call);
}

/** Returns the end of a call, with the words of the hold if one cancelled it. */
function withHold({ holds }: CallDeps, { request }: Call, ended: Attempt): Attempt {
  if (typeof ended === 'symbol' || !('error' in ended) || ended.error.code !== 'cancelled') return ended;
  const hold = holds.stoppedBy(request);
  return hold ? { error: stoppedByHold(hold, ended.error.may_have_run) } : ended;
}

function endedWhileWaiting(): ToolCallError {
  const message =
    'the deadline of the call passed while the clock leapt or the machine slept, before it could start';
  return toolCallError('tool_timeout', message, { mayHaveRun: false, retryable: true });
}

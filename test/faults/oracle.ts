import type { CounterLine } from '@signalbox/testing';
import type { CallEntry, Ledger } from './ledger.ts';
import type { StoredMessages } from './stored-messages.ts';

/** The differences between what callers were told and what the counter file and the broker's database hold, as ids. */
export interface Verdict {
  calls: number;
  results: number;
  /** The number of typed failures by code. */
  typed: Record<string, number>;
  /** The number of calls whose caller died, by the orchestrator's answer about them. */
  orphans: Record<string, number>;
  notes: number;
  /** Calls that reported no end by their deadline. */
  silent: string[];
  /** Calls with a result whose tool never ran. */
  inventedResults: string[];
  /** Calls that are not safe to repeat, with a result, whose end neither the database nor the journal has. */
  unrecorded: string[];
  /** Calls that still wait in the database although every call has ended. */
  unsettled: string[];
  /** Notes with a receipt that the database does not hold. */
  lostNotes: string[];
  /** Calls that are not safe to repeat and ran more than once. */
  doubledCalls: string[];
  doubledNotes: string[];
  /** Calls that were reported as not run although they ran. */
  misreported: string[];
  endedTwice: number;
}

const safeTools = new Set(['echo']);

export function judge(ledger: Ledger, counted: readonly CounterLine[], stored: StoredMessages): Verdict {
  const calls = [...ledger.calls.values()];
  const runs = countBy(counted.filter(({ at }) => at === 'start').map(({ args }) => String(args.label)));
  const inbox = countBy(stored.inbox);
  const ids = (isSuch: (call: CallEntry) => boolean): string[] => calls.filter(isSuch).map(({ id }) => id);
  const ran = ({ id }: CallEntry): boolean => runs.has(id);
  const receipted = [...ledger.notes].filter(([, receipt]) => receipt).map(([id]) => id);
  return {
    calls: calls.length,
    results: calls.filter(isResult).length,
    typed: Object.fromEntries(
      countBy(calls.flatMap(({ end }) => (end?.code === undefined ? [] : [end.code]))),
    ),
    orphans: Object.fromEntries(countBy(calls.flatMap(({ asked }) => (asked ? [asked.state] : [])))),
    notes: receipted.length,
    silent: ids(({ state }) => state === 'silent' || state === 'open'),
    inventedResults: ids((call) => (isResult(call) || call.asked?.result === true) && !ran(call)),
    unrecorded: ids(
      (call) => isResult(call) && !safeTools.has(call.tool) && !stored.settledCalls.has(call.id),
    ),
    unsettled: stored.waitingCalls,
    lostNotes: receipted.filter((id) => !inbox.has(id)),
    doubledCalls: ids(({ id, tool }) => !safeTools.has(tool) && (runs.get(id) ?? 0) > 1),
    doubledNotes: [...inbox].filter(([, times]) => times > 1).map(([id]) => id),
    misreported: ids((call) => call.end?.code !== undefined && !call.end.mayHaveRun && ran(call)),
    endedTwice: ledger.endedTwice,
  };
}

/** Lists every broken promise of receipts and calls. */
export function lostOf(verdict: Verdict): string[] {
  const { silent, inventedResults, unrecorded, unsettled, lostNotes } = verdict;
  return [...silent, ...inventedResults, ...unrecorded, ...unsettled, ...lostNotes];
}

export function doubledOf(verdict: Verdict): string[] {
  return [...verdict.doubledCalls, ...verdict.doubledNotes];
}

function isResult({ state, end }: CallEntry): boolean {
  return state === 'ended' && end?.code === undefined;
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

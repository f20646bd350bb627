import type { Benchmarks, Skipped } from './benchmarks.ts';
import { fairnessTable, recoveryTable } from './fleet-tables.ts';
import { growthTables } from './growth-tables.ts';
import { askTable, callTable, hopSentence, messageTables, processorTable } from './tables.ts';
import { targetsOf, targetTable } from './targets.ts';

/** The figures of what was measured, without the words of the page. */
export function onScreen(measured: Omit<Benchmarks, 'changes'>): string {
  const { messages, calls, asks, growth, fleet, postgres } = measured;
  const targets = targetsOf(measured);
  const parts = [
    messages && messageTables(messages),
    calls &&
      [callTable(calls), processorTable(calls), hopSentence(calls)].filter((part) => part).join('\n\n'),
    asks && askTable(asks),
    growth && growthTables(growth),
    fleet && `${fairnessTable(fleet)}\n\n${recoveryTable(fleet)}`,
    postgres && messageTables(postgres),
    targets.length > 0 && `### Targets\n\n${targetTable(targets)}`,
    skippedLines([...(messages?.skipped ?? []), ...(calls?.skipped ?? []), ...(postgres?.skipped ?? [])]),
  ];
  return parts.filter((part) => part).join('\n\n');
}

function skippedLines(skipped: readonly Skipped[]): string {
  return skipped.map(({ name, reason }) => `not measured: ${name}: ${reason}`).join('\n');
}

import type { Tool } from '@signalbox/protocol';
import type { ToolProblem } from '../tool-calls/index.ts';
import type { Capability } from './document/compile-capability.ts';
import type { LoadedFile, PlacedCapability } from './files/load-file.ts';

/** All tools at one moment. A snapshot is never changed, only replaced. */
export interface CatalogSnapshot {
  byName: ReadonlyMap<string, Capability>;
  tools: readonly Tool[];
  problems: readonly ToolProblem[];
}

/** The snapshot before any file was read. */
export const emptySnapshot: CatalogSnapshot = { byName: new Map(), tools: [], problems: [] };

/** Builds a snapshot. Of tools with the same name the first one is kept. Unchanged lists stay the same arrays. */
export function buildSnapshot(
  files: Iterable<LoadedFile>,
  problems: readonly ToolProblem[],
  before: CatalogSnapshot,
): CatalogSnapshot {
  const kept = new Map<string, PlacedCapability>();
  const found: ToolProblem[] = [...problems];
  for (const file of files) {
    found.push(...file.problems);
    for (const placed of file.tools) {
      const { name } = placed.capability.tool;
      const first = kept.get(name);
      if (!first) kept.set(name, placed);
      else {
        found.push({
          tool: name,
          message: `${placed.place}: name: '${name}' is defined at ${first.place} already, and that one stays`,
        });
      }
    }
  }
  const byName = new Map([...kept].map(([name, { capability }]) => [name, capability]));
  return {
    byName,
    tools: sameIfEqual(
      before.tools,
      [...byName.values()].map(({ tool }) => tool),
    ),
    problems: sameIfEqual(before.problems, found),
  };
}

function sameIfEqual<T>(before: readonly T[], after: readonly T[]): readonly T[] {
  return JSON.stringify(before) === JSON.stringify(after) ? before : after;
}

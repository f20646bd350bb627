import type { RepeatWord } from '@signalbox/protocol';
import { matchesPattern } from './tool-pattern.ts';

/** Tool names or patterns with `*`. `never` wins where both match. */
export interface RepeatLists {
  /** May be called again although nobody knows how the first call ended. */
  safe?: readonly string[];
  /** May not, whatever their server declares. */
  never?: readonly string[];
}

/** The operator's word on a tool of that name, if there is one. */
export function repeatWordFor(lists: RepeatLists, tool: string): RepeatWord | undefined {
  const isIn = (patterns: readonly string[] = []) =>
    patterns.some((pattern) => matchesPattern(pattern, tool));
  if (isIn(lists.never)) return 'never';
  return isIn(lists.safe) ? 'safe' : undefined;
}

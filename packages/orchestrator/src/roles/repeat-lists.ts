import { mayRepeat, type RepeatOverride, type Tool, withRepeatOverride } from '@signalbox/protocol';
import { matchesPattern } from './tool-pattern.ts';

/**
 * The operator's lists of tools that may or must not be called again. Entries are names or patterns with `*`; if both
 * lists match a tool, `never` decides.
 */
export interface RepeatLists {
  /** Tools that may be called again although nobody knows how the first call ended. */
  safe?: readonly string[];
  /** Tools that must not be called again, even if their server declares that they may be. */
  never?: readonly string[];
}

/** Returns what the operator's lists say about repeating this tool; `undefined` if neither list names it. */
export function repeatOverrideFor(lists: RepeatLists, tool: string): RepeatOverride | undefined {
  if (patternFor(lists.never, tool) !== undefined) return 'never';
  return patternFor(lists.safe, tool) === undefined ? undefined : 'safe';
}

/** Says whether a call that was sent to the tool's server may be made again, and which rule decides that. */
export function explainRepeat(
  lists: RepeatLists,
  tool: Tool,
): { repeat: 'safe' | 'unsafe'; repeat_rule: string } {
  const repeat = mayRepeat(withRepeatOverride(tool, repeatOverrideFor(lists, tool.name)), true)
    ? 'safe'
    : 'unsafe';
  return { repeat, repeat_rule: ruleFor(lists, tool) };
}

function ruleFor(lists: RepeatLists, { name, annotations }: Tool): string {
  const never = patternFor(lists.never, name);
  if (never !== undefined) return `neverRepeat: '${never}'`;
  const safe = patternFor(lists.safe, name);
  if (safe !== undefined) return `safeToRepeat: '${safe}'`;
  if (annotations?.readOnlyHint === true) return 'its server declares readOnlyHint';
  if (annotations?.idempotentHint === true) return 'its server declares idempotentHint';
  return 'its server declares neither readOnlyHint nor idempotentHint';
}

function patternFor(patterns: readonly string[] | undefined, tool: string): string | undefined {
  return patterns?.find((pattern) => matchesPattern(pattern, tool));
}

import { mayRepeat, type RepeatWord, type Tool, withRepeatWord } from '@signalbox/protocol';
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
  if (patternFor(lists.never, tool) !== undefined) return 'never';
  return patternFor(lists.safe, tool) === undefined ? undefined : 'safe';
}

/** Whether a call of the tool that was sent may be made again, and what decided that. */
export function explainRepeat(
  lists: RepeatLists,
  tool: Tool,
): { repeat: 'safe' | 'unsafe'; repeat_rule: string } {
  const repeat = mayRepeat(withRepeatWord(tool, repeatWordFor(lists, tool.name)), true) ? 'safe' : 'unsafe';
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

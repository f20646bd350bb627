import type { ToolOrigin } from '@signalbox/mcp-host';
import { mayRepeat, type RepeatOverride, type Tool, withRepeatOverride } from '@signalbox/protocol';
import { matchesTool } from './tool-pattern.ts';

/**
 * The operator's lists of tools that may or must not be called again. Entries are names, patterns with `*` or `server:tool`; if both
 * lists match a tool, `never` decides.
 */
export interface RepeatLists {
  /** Tools that may be called again although the outcome of the first call is unknown. */
  safe?: readonly string[];
  /** Tools that must not be called again, even if their server declares that they may be. */
  never?: readonly string[];
}

/** Returns the operator's decision on repeating this tool; `undefined` if neither list names it. */
export function repeatOverrideFor(
  lists: RepeatLists,
  tool: string,
  origin?: ToolOrigin,
): RepeatOverride | undefined {
  if (patternFor(lists.never, tool, origin) !== undefined) return 'never';
  return patternFor(lists.safe, tool, origin) === undefined ? undefined : 'safe';
}

/** Tells whether a call that was sent to the tool's server may be made again, and which rule decides that. */
export function explainRepeat(
  lists: RepeatLists,
  tool: Tool,
  origin?: ToolOrigin,
): { repeat: 'safe' | 'unsafe'; repeat_rule: string } {
  const repeat = mayRepeat(withRepeatOverride(tool, repeatOverrideFor(lists, tool.name, origin)), true)
    ? 'safe'
    : 'unsafe';
  return { repeat, repeat_rule: ruleFor(lists, tool, origin) };
}

function ruleFor(lists: RepeatLists, { name, annotations }: Tool, origin: ToolOrigin | undefined): string {
  const never = patternFor(lists.never, name, origin);
  if (never !== undefined) return `neverRepeat: '${never}'`;
  const safe = patternFor(lists.safe, name, origin);
  if (safe !== undefined) return `safeToRepeat: '${safe}'`;
  if (annotations?.readOnlyHint === true) return 'its server declares readOnlyHint';
  if (annotations?.idempotentHint === true) return 'its server declares idempotentHint';
  return 'its server declares neither readOnlyHint nor idempotentHint';
}

function patternFor(
  patterns: readonly string[] | undefined,
  tool: string,
  origin: ToolOrigin | undefined,
): string | undefined {
  return patterns?.find((pattern) => matchesTool(pattern, tool, origin));
}

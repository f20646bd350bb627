import type { Tool } from './tool.ts';

/** The key of a tool's `_meta` that holds the operator's override: `safe` or `never`. */
const overrideKey = 'signalbox/repeat';

/** The operator's decision on repeating a tool. It overrides the hints that the tool's server declares. */
export type RepeatOverride = 'safe' | 'never';

/**
 * Tells whether a call may be made again. Every repetition follows this rule: a call that was never sent may be made again. A call
 * that was sent may be made again if its tool declares `readOnlyHint` or `idempotentHint`, unless the operator overrides that.
 */
export function mayRepeat(tool: Tool, sent: boolean): boolean {
  if (!sent) return true;
  const override = repeatOverrideOf(tool);
  if (override) return override === 'safe';
  return tool.annotations?.readOnlyHint === true || tool.annotations?.idempotentHint === true;
}

/** Returns the operator's override on a tool of {@link withRepeatOverride}; `undefined` if there is none. */
export function repeatOverrideOf({ _meta }: Tool): RepeatOverride | undefined {
  const override = _meta?.[overrideKey];
  return override === 'never' || override === 'safe' ? override : undefined;
}

/** Puts the operator's override on a tool, or removes it. An override that the server itself declared is removed. */
export function withRepeatOverride(tool: Tool, override: RepeatOverride | undefined): Tool {
  if (override === undefined && tool._meta?.[overrideKey] === undefined) return tool;
  const { [overrideKey]: _claimed, ...meta } = tool._meta ?? {};
  return { ...tool, _meta: override === undefined ? meta : { ...meta, [overrideKey]: override } };
}

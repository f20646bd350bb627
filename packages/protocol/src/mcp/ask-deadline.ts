import type { Tool } from './tool.ts';

/** The key of a tool's `_meta` that holds the longest wait of a call for a decision, in milliseconds. */
const deadlineKey = 'signalbox/ask_deadline_ms';

/** The longest wait of a call for a decision unless the configuration sets one, in milliseconds. */
export const defaultAskDeadlineMs = 60 * 60 * 1000;

/** Returns the longest wait of the tool's calls for a decision in milliseconds; `undefined` if no call of it waits. */
export function askDeadlineOf({ _meta }: Pick<Tool, '_meta'>): number | undefined {
  const ms = _meta?.[deadlineKey];
  return typeof ms === 'number' && Number.isSafeInteger(ms) && ms > 0 ? ms : undefined;
}

/** Sets the longest wait of the tool's calls for a decision in milliseconds. A value from the server itself is removed. */
export function withAskDeadline(tool: Tool, ms: number | undefined): Tool {
  if (ms === undefined && tool._meta?.[deadlineKey] === undefined) return tool;
  const { [deadlineKey]: _claimed, ...meta } = tool._meta ?? {};
  return { ...tool, _meta: ms === undefined ? meta : { ...meta, [deadlineKey]: ms } };
}

import type { Tool } from './tool.ts';

/** The key of a tool's `_meta` that says how long a call of it may wait for a decision, in milliseconds. */
const deadlineKey = 'signalbox/ask_deadline_ms';

/** How long a call waits for a decision unless the configuration says it, in milliseconds. */
export const defaultAskDeadlineMs = 60 * 60 * 1000;

/** Returns how long a call of the tool may wait for a decision, in milliseconds; `undefined` if no call of it waits. */
export function askDeadlineOf({ _meta }: Pick<Tool, '_meta'>): number | undefined {
  const ms = _meta?.[deadlineKey];
  return typeof ms === 'number' && Number.isSafeInteger(ms) && ms > 0 ? ms : undefined;
}

/** Says on a tool how long a call of it may wait for a decision. What the server itself declared is removed. */
export function withAskDeadline(tool: Tool, ms: number | undefined): Tool {
  if (ms === undefined && tool._meta?.[deadlineKey] === undefined) return tool;
  const { [deadlineKey]: _claimed, ...meta } = tool._meta ?? {};
  return { ...tool, _meta: ms === undefined ? meta : { ...meta, [deadlineKey]: ms } };
}

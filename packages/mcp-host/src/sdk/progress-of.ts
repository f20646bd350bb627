import { forwardedMeta, isJsonObject } from '@signalbox/protocol';
import type { ToolProgress } from '../tool-calls/index.ts';

/** Returns the progress that a server reports; `undefined` if its notification holds none. */
export function progressOf(params: Readonly<Record<string, unknown>>): ToolProgress | undefined {
  const { progress, total, message, _meta: given } = params;
  if (typeof progress !== 'number') return undefined;
  const _meta = isJsonObject(given) ? forwardedMeta(given) : undefined;
  return {
    progress,
    ...(typeof total === 'number' && { total }),
    ...(typeof message === 'string' && { message }),
    ...(_meta && { _meta }),
  };
}

import { forwardedMeta, isExactNumber, isJsonObject } from '@signalbox/protocol';
import type { ToolProgress } from '../tool-calls/index.ts';

/** Returns the progress that a server reports; `undefined` if its notification holds none. */
export function progressOf(params: Readonly<Record<string, unknown>>): ToolProgress | undefined {
  const { message, _meta: given } = params;
  const progress = roundedNumber(params.progress);
  if (progress === undefined) return undefined;
  const total = roundedNumber(params.total);
  const _meta = isJsonObject(given) ? forwardedMeta(given) : undefined;
  return {
    progress,
    ...(total !== undefined && { total }),
    ...(typeof message === 'string' && { message }),
    ...(_meta && { _meta }),
  };
}

/** Progress is only shown, so a number of it may be rounded. */
function roundedNumber(value: unknown): number | undefined {
  const number = isExactNumber(value) ? Number(value.rawJSON) : value;
  return Number.isFinite(number) ? (number as number) : undefined;
}

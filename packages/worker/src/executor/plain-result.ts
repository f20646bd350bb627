import type { ProxiedResult } from '@signalbox/protocol';

/**
 * Whether a reply is a result as orchestrators write nearly all of them, which the schema of replies takes as it is: said
 * faster than by the schema, which has the last word on all others.
 */
export function isPlainResult(reply: unknown): reply is { result: ProxiedResult } {
  if (!isRecord(reply)) return false;
  for (const field in reply) if (field !== 'result') return false;
  const { result } = reply;
  if (!isRecord(result)) return false;
  const { success, text, content, isError, _meta } = result;
  const isMarked = typeof success === 'boolean' && typeof text === 'string';
  const isErrorPlain = isError === undefined || typeof isError === 'boolean';
  return isMarked && isErrorPlain && (_meta === undefined || isRecord(_meta)) && areBlocks(content);
}

function areBlocks(content: unknown): boolean {
  return (
    Array.isArray(content) && content.every((block) => isRecord(block) && typeof block.type === 'string')
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

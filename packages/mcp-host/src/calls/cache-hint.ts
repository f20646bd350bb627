import type { AnswerLifetime } from '@signalbox/tool-calls';

/**
 * Reads how long a result says it holds, and for whom. MCP 2026-07-28 defines `ttlMs` and `cacheScope` for lists and
 * resources; on the result of a call we take the same two fields, at the top level or, where a server keeps to `_meta`,
 * there.
 */
export function cacheHintOf(result: Record<string, unknown>): AnswerLifetime {
  const { ttlMs, cacheScope } = 'ttlMs' in result ? result : recordOf(result._meta);
  const isTtl = typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs > 0;
  return { ttlMs: isTtl ? ttlMs : undefined, public: cacheScope === 'public' };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

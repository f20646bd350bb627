import type { AnswerLifetime } from '../tool-calls/index.ts';

/**
 * Reads how long a result is valid, and for whom. MCP 2026-07-28 defines `ttlMs` and `cacheScope` for lists and resources. In the result of
 * a call the same two fields are read, at the top level or, if a server puts them there, in `_meta`.
 */
export function cacheHintOf(result: Record<string, unknown>): AnswerLifetime {
  const { ttlMs, cacheScope } = 'ttlMs' in result ? result : recordOf(result._meta);
  const isTtl = typeof ttlMs === 'number' && Number.isFinite(ttlMs) && ttlMs > 0;
  return { ttlMs: isTtl ? ttlMs : undefined, public: cacheScope === 'public' };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

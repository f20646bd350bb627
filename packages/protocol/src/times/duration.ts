const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads `500ms`, `30s`, `15m`, `8h` or `7d` as milliseconds; returns `undefined` for anything else and for zero. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text);
  if (!match) return undefined;
  const value = Math.round(Number(match[1]) * unitMs[match[2] as keyof typeof unitMs]);
  return value > 0 && Number.isSafeInteger(value) ? value : undefined;
}

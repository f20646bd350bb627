/** Reads the `Retry-After` header as seconds. A date is counted from the answer's own date, so that our clock doesn't matter. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value);
  const seconds = Math.ceil((Date.parse(value) - Date.parse(headers.get('date') ?? '')) / 1_000);
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}

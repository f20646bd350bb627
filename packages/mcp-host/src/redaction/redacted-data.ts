import { withTexts } from './json-texts.ts';

const maxBytes = 16_384;
const maxDepth = 24;

/** Passes every text in JSON data through `redact`. Returns `undefined` for data above 16 KiB or deeper than 24 levels. */
export function redactedData(data: unknown, redact: (text: string) => string): unknown {
  if (isDeeperThan(data, maxDepth)) return undefined;
  const clean = withTexts(data, redact);
  const text = JSON.stringify(clean);
  return text !== undefined && Buffer.byteLength(text) <= maxBytes ? clean : undefined;
}

/** Tells whether JSON data nests deeper than so many levels. */
export function isDeeperThan(value: unknown, levels: number): boolean {
  if (value === null || typeof value !== 'object') return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(inner, levels - 1));
}

import { defaultLimits } from './limits.ts';

/**
 * The bounds of JSON in message bodies, the same for every reader. `maxLength` is in UTF-16 units, `maxDepth` counts nested arrays
 * and objects, and `maxNodes` counts values, names and containers: parsed, a node takes up to 40 bytes.
 */
export const bodyLimits = {
  maxLength: defaultLimits.message.bytes,
  maxDepth: 256,
  maxNodes: 250_000,
} as const;

/**
 * Returns the bounds of JSON in bodies for readers at a broker that accepts bodies of `maxBytes`. If that is more than the default, a body
 * may have proportionally more values and names.
 */
export function bodyLimitsFor(maxBytes: number = bodyLimits.maxLength): {
  readonly [Bound in keyof typeof bodyLimits]: number;
} {
  const factor = Math.max(1, maxBytes / bodyLimits.maxLength);
  return {
    maxLength: Math.floor(bodyLimits.maxLength * factor),
    maxDepth: bodyLimits.maxDepth,
    maxNodes: Math.floor(bodyLimits.maxNodes * factor),
  };
}

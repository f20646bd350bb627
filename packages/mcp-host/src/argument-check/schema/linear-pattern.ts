import { RE2JS } from 're2js';
import type { LinearPattern } from './schema-graph.ts';

const maxLength = 4_096;
const maxSize = 1_000;

/**
 * Compiles an ECMAScript pattern for RE2. Returns `undefined` for one that RE2 can't express (look-around,
 * back-references) or only as a very large program.
 */
export function linearPattern(source: string): LinearPattern | undefined {
  if (source.length > maxLength) return undefined;
  try {
    const pattern = RE2JS.compile(RE2JS.translateRegExp(withUnicodeSpace(source)));
    const size = pattern.programSize();
    if (size > maxSize) return undefined;
    // At worst each character meets every instruction of the program.
    return { test: (text) => pattern.test(text), cost: (text) => 1 + Math.ceil((text.length * size) / 5) };
  } catch {
    return undefined;
  }
}

const space = '\\s\\v\\x{a0}\\x{feff}\\p{Z}';

/** Rewrites `\s` and `\S`, which in RE2 know only the spaces of ASCII and in ECMAScript those of Unicode. */
function withUnicodeSpace(source: string): string {
  let inClass = false;
  return source.replaceAll(/\\(?:.|$)|[[\]]/gs, (token) => {
    if (token === '[' || token === ']') inClass = token === '[';
    if (token === '\\s') return inClass ? space : `[${space}]`;
    return token === '\\S' && !inClass ? `[^${space}]` : token;
  });
}

import { RE2JS } from 're2js';
import type { LinearPattern } from './schema-graph.ts';

const maxLength = 4_096;
const maxSize = 1_000;

/** A pattern of ECMAScript as RE2 runs it; `undefined` for what RE2 can't express (lookarounds, backreferences) or only at a great cost. */
export function linearPattern(source: string): LinearPattern | undefined {
  if (source.length > maxLength) return undefined;
  try {
    const pattern = RE2JS.compile(RE2JS.translateRegExp(withAllSpace(source)));
    const size = pattern.programSize();
    if (size > maxSize) return undefined;
    // At worst each character meets every instruction of the program.
    return { test: (text) => pattern.test(text), cost: (text) => 1 + Math.ceil((text.length * size) / 5) };
  } catch {
    return undefined;
  }
}

const space = '\\s\\v\\x{a0}\\x{feff}\\p{Z}';

/** RE2's `\s` and `\S` know ASCII only; ECMAScript's know the spaces of Unicode. */
function withAllSpace(source: string): string {
  let text = '';
  let inClass = false;
  for (let at = 0; at < source.length; at++) {
    const c = source[at]!;
    if (c === '\\') {
      const escaped = source[++at] ?? '';
      if (escaped === 's') text += inClass ? space : `[${space}]`;
      else if (escaped === 'S' && !inClass) text += `[^${space}]`;
      else text += c + escaped;
      continue;
    }
    if (c === '[') inClass = true;
    else if (c === ']') inClass = false;
    text += c;
  }
  return text;
}

import { stringEnd } from '../wire/parse-json.ts';

/** The `id` and the `method` of a JSON-RPC message, if it has them. */
export interface JsonRpcHead {
  id?: string | number;
  method?: string;
}

/**
 * The source of a regular expression for an id in JSON: a string without escapes, or a whole number that JavaScript represents exactly.
 * `JSON.parse` accepts every text that matches.
 */
export const plainIdPattern = String.raw`"[^"\\\u0000-\u001f]{0,256}"|-?(?:0|[1-9]\d{0,14})`;

/** A string or a whole number that is a member of an object. */
const scalar = /\s*("(?:[^"\\]|\\.){0,256}"|-?\d{1,15})\s*[,}]/sy;

/**
 * Reads the `id` and the `method` of a message that has too many nodes to be parsed. It looks at the top level only, and stops when
 * it has an `id` and knows whether there is a `method`. It needs no memory for the rest of the text.
 */
export function jsonRpcHead(text: string): JsonRpcHead {
  let id: string | number | undefined;
  let method: string | undefined;
  let level = 0;
  let isResponse = false;
  let name = '';
  for (let i = 0; i < text.length; i++) {
    switch (text[i]) {
      case '"': {
        const end = stringEnd(text, i);
        if (level === 1) name = text.slice(i + 1, end);
        i = end;
        break;
      }
      case '{':
      case '[':
        level++;
        break;
      case '}':
      case ']':
        level--;
        break;
      case ':':
        if (level !== 1) break;
        if (name === 'id') id ??= scalarAt(text, i + 1);
        else if (name === 'method') method ??= String(scalarAt(text, i + 1) ?? '');
        else isResponse ||= name === 'result' || name === 'error';
        if (id !== undefined && (isResponse || method !== undefined)) return headOf(id, method);
    }
  }
  return headOf(id, method);
}

function headOf(id: JsonRpcHead['id'], method: JsonRpcHead['method']): JsonRpcHead {
  return { ...(id !== undefined && { id }), ...(method !== undefined && { method }) };
}

function scalarAt(text: string, start: number): string | number | undefined {
  scalar.lastIndex = start;
  const found = scalar.exec(text)?.[1];
  if (found === undefined) return undefined;
  try {
    return JSON.parse(found) as string | number;
  } catch {
    return undefined;
  }
}

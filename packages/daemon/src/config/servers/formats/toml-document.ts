import { messageOf } from '@signalbox/protocol';
import { parse, TomlError } from 'smol-toml';
import type { ReadDocument } from '../../document/read-document.ts';
import { readJsonDocument } from '../../document/read-json-document.ts';

/** Reads a TOML text as the same document as JSON would give, with the lines of its tables and keys. */
export function readTomlDocument(text: string): ReturnType<typeof readJsonDocument> {
  let root: unknown;
  try {
    root = parse(text, { integersAsBigInt: 'asNeeded' });
  } catch (error) {
    // The further lines of the message quote the file, which may hold secrets.
    const [message = ''] = messageOf(error).split('\n');
    const line = error instanceof TomlError ? error.line : 1;
    return {
      problems: [{ line, path: '(syntax)', message: message.replace('Invalid TOML document: ', '') }],
    };
  }
  const { json, places } = jsonWithPlaces(root, linesOf(text));
  const read = readJsonDocument(json);
  if ('problems' in read) return read;
  const lineAt: ReadDocument['lineAt'] = (offset) =>
    places.findLast((place) => place.offset <= offset)?.line ?? 1;
  return { document: read.document, lineAt };
}

/** Writes a value as JSON, and lists the offsets in it at which another line of the source begins. */
function jsonWithPlaces(root: unknown, lines: ReadonlyMap<string, number>) {
  const places: { offset: number; line: number }[] = [];
  let json = '';
  const write = (value: unknown, path: readonly string[], around: number): void => {
    const line = lines.get(JSON.stringify(path)) ?? around;
    places.push({ offset: json.length, line });
    if (Array.isArray(value)) writeAll(value, '[]', (one, at) => write(one, [...path, String(at)], line));
    else if (typeof value === 'object' && value !== null && !(value instanceof Date))
      writeAll(Object.entries(value), '{}', ([key, one]) => {
        const own = lines.get(JSON.stringify([...path, key])) ?? line;
        places.push({ offset: json.length, line: own });
        json += `${JSON.stringify(key)}:`;
        write(one, [...path, key], own);
      });
    else json += typeof value === 'bigint' ? String(value) : (JSON.stringify(value) ?? 'null');
  };
  const writeAll = <One>(
    all: readonly One[],
    [open, close]: string,
    one: (one: One, at: number) => void,
  ): void => {
    json += open;
    for (const [at, value] of all.entries()) {
      if (at > 0) json += ',';
      one(value, at);
    }
    json += close;
  };
  write(root, [], 1);
  return { json, places };
}

const keyStart = /^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=/;

/** Returns the lines of tables and keys by their paths. In a text over several lines it may find some that are none. */
function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>();
  let table: string[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (/^\s*\[/.test(line)) table = pathOf(line) ?? table;
    const key = keyStart.exec(line)?.[1];
    const path =
      key === undefined ? (/^\s*\[/.test(line) ? table : []) : [...table, ...(pathOf(`${key}=0`) ?? [])];
    for (let length = path.length; length > 0; length--) {
      const name = JSON.stringify(path.slice(0, length));
      if (!lines.has(name)) lines.set(name, at + 1);
    }
  }
  return lines;
}

/** Returns the keys that a table's head, or the line of one key, leads through. */
function pathOf(line: string): string[] | undefined {
  try {
    const path: string[] = [];
    let at: unknown = parse(line);
    while (typeof at === 'object' && at !== null && Object.keys(at).length > 0) {
      const [key = ''] = Object.keys(at);
      if (!Array.isArray(at)) path.push(key);
      at = (at as Record<string, unknown>)[key];
    }
    return path;
  } catch {
    return undefined;
  }
}

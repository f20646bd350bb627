import {
  isJsonObject,
  type KeptPart,
  type KeptRange,
  type KeptRead,
  keptRangeLimits,
  keptRangeMeta,
  keptResultUri,
  type McpReply,
  parseKeptResultUri,
  readJson,
  toolCallError,
} from '@signalbox/protocol';
import type { KeptResult } from './kept-result.ts';
import { type KeptText, readBytes, readLines, type TextPart } from './kept-text.ts';
import type { KeptCall, ResultStore } from './result-store.ts';
import { linesAround, type ShownLine, searchText } from './search-text.ts';

/** The dependencies of {@link readKept}. */
export interface ReadKeptDeps {
  results: ResultStore | undefined;
  /** Tells whether the reader is shown the results of a call. */
  mayRead: (call: KeptCall) => boolean;
  /** The longest part of a text that the reader's role is shown at once, in bytes. */
  mostBytes: number;
  /** The longest reply that can be delivered, in bytes. */
  maxReplyBytes: number;
}

/**
 * Answers a read of a kept result in the form that MCP demands of a resource: the part that the URI asks for, and if there is more, a line
 * that says where. Another agent's result gets the same error as a missing one.
 */
export async function readKept(deps: ReadKeptDeps, uri: string): Promise<McpReply> {
  const read = parseKeptResultUri(uri);
  if ('problem' in read) return failed('invalid_arguments', `field 'uri': ${read.problem}`);
  const { id, part, range } = read;
  const call = deps.results?.callOf(id);
  if (!deps.results || !call || !deps.mayRead(call)) return missing(id);
  await using kept = await deps.results.open(id);
  if (!kept) return missing(id);
  if (typeof part === 'number') return await readBlock(kept, { uri, id, block: part }, deps.maxReplyBytes);
  const text = kept.document(part);
  const asked = { uri, id, part };
  const mostBytes = call.resource ? answerPartBytes(deps.maxReplyBytes) : deps.mostBytes;
  if (range.by === 'search') return await readMatches(text, asked, range, mostBytes);
  return await readPart(text, asked, range, mostBytes);
}

/** Returns the longest part of a kept answer. A program reads it, and not a model. Within the reply, its JSON is up to twice as long. */
function answerPartBytes(maxReplyBytes: number): number {
  return Math.min(keptRangeLimits.bytes, Math.floor(maxReplyBytes / 4));
}

interface Asked extends Omit<KeptRead, 'range'> {
  uri: string;
}

async function readPart(
  text: KeptText,
  { uri, id, part }: Asked,
  range: Exclude<KeptRange, { by: 'search' }>,
  mostBytes: number,
): Promise<McpReply> {
  const found =
    range.by === 'lines' ? await readLines(text, range, mostBytes) : await readBytes(text, range, mostBytes);
  const { offset, end } = found;
  const next = end < text.bytes ? keptResultUri(id, part, nextRange(found, range)) : undefined;
  const more = `[Bytes ${offset} to ${end} of ${text.bytes}, from line ${found.line} of ${text.lines} on. The rest begins at ${next}]`;
  return answered(
    { uri, part, text: found.text, more: next === undefined ? undefined : { uri: next, text: more } },
    {
      ...{ offset, end, bytes: text.bytes },
      ...{ line: found.line, last_line: found.lastLine, lines: text.lines },
      ...(next !== undefined && { next }),
    },
  );
}

function nextRange({ end, lastLine, endsLine }: TextPart, range: KeptRange) {
  if (range.by !== 'lines' || !endsLine) return { offset: end };
  return { line: lastLine + 1, lines: range.lines };
}

async function readMatches(
  text: KeptText,
  { uri, id, part }: Asked,
  range: Extract<KeptRange, { by: 'search' }>,
  mostBytes: number,
): Promise<McpReply> {
  const { search, ignoreCase, context, matches } = range;
  const { places, next: beyond } = await searchText(text, range);
  const { listing, cutAt } = listingOf(await linesAround(text, places, context), mostBytes);
  const offset = cutAt ?? beyond;
  const fields = { search, ignore_case: ignoreCase || undefined, context, matches, offset };
  const next = offset === undefined ? undefined : keptResultUri(id, part, fields);
  const shown = cutAt === undefined ? places.length : places.filter((place) => place < cutAt).length;
  const none = range.offset > 0 ? `No further match for '${search}'.` : `No match for '${search}'.`;
  return answered(
    {
      uri,
      part: 'text',
      text: shown === 0 ? none : listing,
      more: next === undefined ? undefined : { uri: next, text: `[More matches: ${next}]` },
    },
    { matches: shown, bytes: text.bytes, lines: text.lines, ...(next !== undefined && { next }) },
  );
}

/** Writes lines with their numbers, and matches with `>`, up to this many bytes. `cutAt` is the first match that is left out. */
function listingOf(
  lines: readonly ShownLine[],
  mostBytes: number,
): { listing: string; cutAt: number | undefined } {
  const written: string[] = [];
  let left = mostBytes;
  let hasMatch = false;
  for (const [at, one] of lines.entries()) {
    const before = lines[at - 1];
    const row = `${before && one.line > before.line + 1 ? '--\n' : ''}${rowOf(one)}`;
    left -= Buffer.byteLength(row) + 1;
    const cutAt =
      left < 0 && hasMatch ? lines.slice(at).find(({ place }) => place !== undefined)?.place : undefined;
    if (cutAt !== undefined) return { listing: written.join('\n'), cutAt };
    written.push(row);
    hasMatch ||= one.place !== undefined;
  }
  return { listing: written.join('\n'), cutAt: undefined };
}

function rowOf({ line, text, place, isCut }: ShownLine): string {
  const at = isCut && place !== undefined ? ` (byte ${place})` : '';
  return `${place === undefined ? ' ' : '>'} ${line}${at}: ${text}`;
}

async function readBlock(
  kept: KeptResult,
  { uri, id, block }: { uri: string; id: string; block: number },
  maxReplyBytes: number,
): Promise<McpReply> {
  const json = kept.document('json');
  const place = kept.header.blocks.find(([number]) => number === block);
  const inJson = keptResultUri(id, 'json', { offset: place?.[1] ?? 0 });
  if (!place)
    return failed(
      'not_found',
      `there is no content block ${block} that is no text, or it is one of too many; ${inJson} holds all`,
    );
  const [, at, length] = place;
  // The reply has further fields around it.
  if (length + 1024 > maxReplyBytes) {
    const message = `content block ${block} has ${length} bytes of JSON, and one message takes ${maxReplyBytes}`;
    return failed('result_too_large', message, `Read it in parts from ${inJson} on.`);
  }
  const read = readJson((await json.read(at, length)).toString());
  return { data: { contents: [blockContent(uri, read)] } };
}

/** Makes the contents that represent a content block. */
function blockContent(uri: string, block: unknown): Record<string, unknown> {
  if (isJsonObject(block)) {
    const { mimeType, data, resource } = block;
    if (typeof data === 'string')
      return { uri, ...(typeof mimeType === 'string' && { mimeType }), blob: data };
    if (isJsonObject(resource)) return { ...resource, uri };
  }
  return { uri, mimeType: 'application/json', text: JSON.stringify(block) };
}

function answered(
  {
    uri,
    part,
    text,
    more,
  }: { uri: string; part: KeptPart; text: string; more: { uri: string; text: string } | undefined },
  range: Record<string, unknown>,
): McpReply {
  const mimeType = part === 'json' ? 'application/json' : 'text/plain';
  const contents = [
    { uri, mimeType, text },
    ...(more ? [{ uri: more.uri, mimeType: 'text/plain', text: more.text }] : []),
  ];
  return { data: { contents, _meta: { [keptRangeMeta]: range } } };
}

function missing(id: string): McpReply {
  return failed(
    'not_found',
    `no result '${id}' is kept for you: it was never there, or its time is over, or it was kept before a restore`,
  );
}

function failed(
  code: 'not_found' | 'invalid_arguments' | 'result_too_large',
  message: string,
  hint?: string,
): McpReply {
  return { error: toolCallError(code, message, { mayHaveRun: false, ...(hint !== undefined && { hint }) }) };
}

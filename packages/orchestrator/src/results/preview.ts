import { keptResultMeta, keptResultUri, type McpResult, resultReadTool } from '@signalbox/protocol';
import { figure } from '@signalbox/protocol/internal';
import { behindNewline, characterBegin } from './text-marks.ts';

/** The facts that a preview states about its result. */
export interface PreviewFacts {
  id: string;
  tool: string;
  /** The text of the result. */
  text: Buffer;
  lines: number;
  jsonBytes: number;
  kinds: Readonly<Record<string, number>>;
  /** The time until which it is kept at least, in epoch milliseconds. */
  until: number;
}

/** The most lines, and the most bytes of JSON, of the text in a preview. */
const beginLines = 20;
const beginBytes = 1536;
/** The most bytes of JSON up to which a preview repeats other fields of the result. */
const fieldBytes = 512;
const shownKinds = 5;

/**
 * Makes the result that a caller gets instead of a large one: its size and kind, its URI, the way to read it, and its first lines. All that
 * is text, since helpers of agents' libraries refuse results with a `resource_link` (findings/files-in-results.sh). An error stays
 * an error. If the result has data, the preview has data with the same facts; see `withKeptResults` for the schema of that.
 */
export function previewOf(result: McpResult, facts: PreviewFacts): McpResult {
  const { content: _content, structuredContent, isError, _meta: meta = {}, ...fields } = result;
  const { id, tool, text, lines, jsonBytes, until } = facts;
  const uri = keptResultUri(id);
  const begin = beginOf(text);
  const kinds = kindsText(facts.kinds);
  const message = `The result of '${tool}' is too large to be shown here: ${figure(text.length)} bytes of text in ${lines === 1 ? '1 line' : `${figure(lines)} lines`} (${kinds}). It is kept for you as ${uri} until ${timeText(until)} at least. Read it with ${resultReadTool} and the id ${id}: by line and lines, by offset and bytes, or with search.`;
  const kept = { uri, bytes: text.length, lines, json_bytes: jsonBytes, kinds, until };
  return {
    ...small(fields),
    content: [
      { type: 'text', text: begin === '' ? message : `${message} It begins:` },
      ...(begin === '' ? [] : [{ type: 'text', text: begin }]),
    ],
    // Some clients show a model only the data.
    ...(structuredContent !== undefined && {
      structuredContent: { [keptResultField]: { message, uri, begin } },
    }),
    ...(isError !== undefined && { isError }),
    _meta: { ...small(meta), [keptResultMeta]: kept },
  };
}

/** The field in `structuredContent` of a preview. */
export const keptResultField = 'signalbox_kept_result';

/** Returns the first lines of a text, or the beginning of its first line. */
function beginOf(text: Buffer): string {
  const head = text.subarray(0, beginBytes);
  const some = head.subarray(0, behindNewline(head, beginLines) ?? head.length);
  for (let length = some.length; ; length = Math.floor(length / 2)) {
    // `characterBegin` reads the byte after the cut.
    const cut = text.subarray(0, characterBegin(text, length));
    const end = cut.length < text.length ? cut.lastIndexOf(0x0a) + 1 || cut.length : cut.length;
    const begin = cut.subarray(0, end).toString();
    if (Buffer.byteLength(JSON.stringify(begin)) <= beginBytes + 2 || length === 0) return begin;
  }
}

function kindsText(kinds: Readonly<Record<string, number>>): string {
  const all = Object.entries(kinds).map(([kind, count]) =>
    count === 1 ? kind : `${figure(count)} × ${kind}`,
  );
  const more = all.length - shownKinds;
  return (
    [...all.slice(0, shownKinds), ...(more > 0 ? [`${more} other kinds`] : [])].join(', ') || 'no content'
  );
}

function small(fields: Record<string, unknown>): Record<string, unknown> {
  return Buffer.byteLength(JSON.stringify(fields)) <= fieldBytes ? fields : {};
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

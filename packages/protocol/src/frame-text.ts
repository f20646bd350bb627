/** Longest header line that is parsed, in UTF-16 units. */
export const maxHeaderLength = 16 * 1024;

/** One frame as text: a header line, and the body line where the header announces one. */
export interface FrameText {
  header: string;
  body?: string;
}

/**
 * One frame as text, newline-terminated. `body` is opaque text that must not hold a newline;
 * JSON without pretty-printing never does.
 */
export function encodeFrame(header: object, body?: string): string {
  if (body === undefined) return `${JSON.stringify(header)}\n`;
  const text = JSON.stringify(header);
  return `${text.slice(0, -1)}${text.length > 2 ? ',' : ''}"body":true}\n${body}\n`;
}

const announcesBody = /"body"\s*:\s*true/;
/** As {@link encodeFrame} writes it: seen without a search. */
const usualMark = '"body":true}';

/**
 * Walks the frames of one WebSocket message. `header` is the raw header line; `body` the raw line after it
 * where the header says `"body":true`. A body that is announced but missing is `undefined`.
 * The decision is made on the header's text, so that a broken header cannot turn its body into a frame.
 */
export function* splitFrames(message: string): Generator<FrameText> {
  let at = 0;
  while (at < message.length) {
    const end = lineEnd(message, at);
    const header = message.slice(at, end);
    at = end + 1;
    if (header.length === 0) continue;
    const hasBody = header.endsWith(usualMark) || announcesBody.test(header);
    if (!hasBody || at >= message.length) {
      yield { header };
      continue;
    }
    const bodyEnd = lineEnd(message, at);
    yield { header, body: message.slice(at, bodyEnd) };
    at = bodyEnd + 1;
  }
}

function lineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from);
  return at < 0 ? text.length : at;
}

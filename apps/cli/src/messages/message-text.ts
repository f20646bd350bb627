import { type Message, parseJson } from '@signalbox/protocol';
import { bodyTextOf } from '@signalbox/protocol/body-text';
import { quotedLines } from '@signalbox/protocol/internal';
import { oneLine } from '../terminal/output.ts';

/** Returns a message as `--json` prints it: its header, and its body as {@link parsedBody} reads it. */
export function withParsedBody({ body, ...header }: Message): Record<string, unknown> & { body: unknown } {
  return { ...header, body: parsedBody(body) };
}

/** Reads the JSON of a body; returns `null` without a body, and the text itself if it is no JSON. */
export function parsedBody(body: string | undefined): unknown {
  if (body === undefined) return null;
  try {
    return parseJson(body);
  } catch {
    return body;
  }
}

/** Writes a body for people: a text as it is, also that of JSON which says nothing else, and other JSON as JSON. */
export function bodyText(body: unknown, { indent = 0 } = {}): string {
  const said = bodyTextOf(body);
  return said?.isWhole ? said.text : (JSON.stringify(body, null, indent) ?? '');
}

/** Writes the beginning of a body on one line. */
export function bodyStart(body: string | undefined): string {
  return oneLine(bodyText(parsedBody(body)), 80);
}

/**
 * Writes a whole body, JSON indented. Each line begins with `| `, so that none can be taken for the header of a message, and
 * characters that nobody sees are written as escapes.
 */
export function bodyLines(body: string | undefined): string[] {
  return body === undefined ? ['(no body)'] : quotedLines(bodyText(parsedBody(body), { indent: 2 }));
}

import { type Message, parseJson } from '@signalbox/protocol';

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

/** Writes a body for people: a text as it is, anything else as JSON. */
export function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
}

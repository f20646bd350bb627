import { type Message, parseJson } from '@signalbox/protocol';

/** Returns a message as commands print it: its header, and the parsed body. A body that is no JSON stays text. */
export function printable({ body, ...header }: Message): Record<string, unknown> & { body: unknown } {
  return { ...header, body: body === undefined ? null : parsed(body) };
}

/** Writes a body for people: a text as it is, anything else as JSON. */
export function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : (JSON.stringify(body) ?? '');
}

function parsed(body: string): unknown {
  try {
    return parseJson(body);
  } catch {
    return body;
  }
}

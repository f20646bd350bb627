import type { RequestId } from './http-reply.ts';

/** The longest name of a stream, in characters: its ids travel in a header, beside a token and the id of a session. */
const maxNameLength = 512;
/** The number of an event after which nothing follows. */
export const lastNumber = Number.MAX_SAFE_INTEGER;

/** The place of an event: the stream that it belongs to, and its number there. */
export interface EventPlace {
  stream: string;
  number: number;
}

/** Returns the id of an event, as `STREAM.NUMBER`. */
export function eventIdOf({ stream, number }: EventPlace): string {
  return `${stream}.${number}`;
}

/** Reads the id of an event; `undefined` if no face has made it. */
export function readEventId(id: string): EventPlace | undefined {
  const [, stream, number] = /^(~?[\w-]{1,512})\.(\d{1,16})$/.exec(id) ?? [];
  return stream === undefined ? undefined : { stream, number: Number(number) };
}

/** Names the stream of the answer to a request; `undefined` if the name would be too long. It holds the id of the request. */
export function answerStreamOf(request: RequestId): string | undefined {
  const name = Buffer.from(JSON.stringify(request)).toString('base64url');
  return name.length > maxNameLength ? undefined : name;
}

/** Returns the id of the request to which a stream is the answer; `undefined` if it answers none. */
export function requestOf(stream: string): RequestId | undefined {
  if (stream.startsWith('~')) return undefined;
  try {
    const request: unknown = JSON.parse(Buffer.from(stream, 'base64url').toString());
    return typeof request === 'string' || typeof request === 'number' ? request : undefined;
  } catch {
    return undefined;
  }
}

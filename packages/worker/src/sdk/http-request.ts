import type { IncomingHttpHeaders } from 'node:http';
import type { EventsTaken } from './http-reply.ts';
import { paramHeaderPrefix } from './param-headers.ts';

export { isJsonContentType } from '@modelcontextprotocol/server';

/** An HTTP request that may be served: its head was checked, its token verified, its body read. */
export interface FaceRequest {
  method: string;
  headers: IncomingHttpHeaders;
  /** The JSON of a POST. */
  message: unknown;
}

const relevant = [
  'accept',
  'content-type',
  'mcp-method',
  'mcp-name',
  'mcp-protocol-version',
  'mcp-session-id',
] as const;

/** Returns the headers that MCP uses. The token is not among them: the SDK does not need it. */
export function mcpHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const names = [...relevant, ...Object.keys(headers).filter((name) => name.startsWith(paramHeaderPrefix))];
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, String(value)]];
    }),
  );
}

/** Returns a header of which a request has only one. */
export function headerOf(
  headers: IncomingHttpHeaders,
  name: (typeof relevant)[number] | 'last-event-id',
): string | undefined {
  return headers[name] as string | undefined;
}

/** Returns whether a client takes a stream of events by its `Accept` header, or takes nothing else. */
export function eventsIn(accept: string | undefined): EventsTaken {
  if (accept === undefined || !/text\/event-stream|\*\/\*/.test(accept)) return 'none';
  return /application\/(?:json|\*)|\*\/\*/.test(accept) ? 'also' : 'only';
}

/** Returns the id that an answer to this message carries; `null` if it has none. */
export function requestIdOf(message: unknown): string | number | null {
  const id = (message as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

import type { Values } from './template.ts';

/** A request with every placeholder filled in, before any secret is added. Header names are lower case. */
export interface ServiceRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | undefined;
}

/** An answer as it came. `mediaType` has no parameters and is lower case. */
export interface ServiceAnswer {
  status: number;
  mediaType: string;
  text: string;
}

/**
 * What an answer says. `value`: its JSON. `text`: it is no JSON. `refusal`: the service ran and says no, in words for the
 * model. `unusable`: it breaks the rules of its own protocol.
 */
export type Reading =
  | { value: unknown }
  | { text: string }
  | { refusal: string; value?: unknown }
  | { unusable: string };

/** How one kind of service is asked. */
export interface Service {
  /** Throws `SignalboxError` `invalid_arguments` for values that can't be sent. */
  request(values: Values, id: string): ServiceRequest;
  /** `undefined` where the status says it all. */
  read(answer: ServiceAnswer, id: string): Reading | undefined;
}

export function parsedJson(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

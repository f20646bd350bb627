import { readJson } from '@signalbox/protocol';
import type { z } from 'zod';
import type { Values } from '../templates/template.ts';
import type { TemplateCompiler } from '../templates/template-compiler.ts';

/** One kind of service that a provider of a capability file can name. */
export interface ServiceKind<Config> {
  /** The schema of the provider's `config`. */
  config: z.ZodType<Config>;
  /** Makes a service of a `config`. Problems in it go to `templates`; `path` leads to it in the document. */
  compile(config: Config, templates: TemplateCompiler, path: readonly PropertyKey[]): Service;
}

/** A service as one tool uses it. */
export interface Service {
  /** Writes the request of a call. Throws `SignalboxError` `invalid_arguments` for values that can't be sent. */
  request(values: Values, id: string): ServiceRequest;
  /** Reads the answer to a request. Returns `undefined` if its status says everything. */
  read(answer: ServiceAnswer, id: string): Reading | undefined;
}

/** A request with all placeholders filled in, but without the secret. Header names are lower case. */
export interface ServiceRequest {
  method: string;
  url: URL;
  headers: Record<string, string>;
  body: string | undefined;
}

/** An answer, unchanged. `mediaType` is lower case and has no parameters. */
export interface ServiceAnswer {
  status: number;
  mediaType: string;
  text: string;
}

/**
 * The content of an answer. `value`: its JSON. `text`: it is not JSON. `refusal`: the service has run and refuses, in words for the model.
 * `unusable`: it breaks the rules of its own protocol.
 */
export type Reading =
  | { value: unknown }
  | { text: string }
  | { refusal: string; value?: unknown }
  | { unusable: string };

/** Writes a POST request with a JSON body. */
export function jsonPost(
  { url, headers }: Pick<ServiceRequest, 'url' | 'headers'>,
  accept: string,
  body: unknown,
): ServiceRequest {
  return {
    method: 'POST',
    url,
    headers: { accept, ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** Tells whether the HTTP status of an answer is a success. */
export function isSuccess({ status }: ServiceAnswer): boolean {
  return status >= 200 && status < 300;
}

/** Parses JSON; returns `undefined` for a text that is not JSON. */
export function parsedJson(text: string): { value: unknown } | undefined {
  try {
    return { value: readJson(text) };
  } catch {
    return undefined;
  }
}

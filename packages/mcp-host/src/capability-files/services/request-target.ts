import { SignalboxError } from '@signalbox/protocol';
import { z } from 'zod';
import { headerName, seconds, text } from '../schema-parts.ts';
import {
  badArgument,
  fillText,
  fillValue,
  type Template,
  textOf,
  type Values,
  type ValueTemplate,
} from '../templates/template.ts';
import type { TemplateCompiler } from '../templates/template-compiler.ts';
import type { ServiceRequest } from './service.ts';

const scalar = z.union([z.string(), z.number(), z.boolean()], {
  error: 'must be a text, a number, true or false',
});

const baseUrl = text
  .refine((url) => !/[{}]/.test(url), { error: 'cannot hold placeholders; put them into path or params' })
  .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), {
    error: 'must be an http:// or https:// URL',
  })
  .refine((url) => URL.parse(url)?.username === '' && URL.parse(url)?.password === '', {
    error: 'must not hold a user name or password; use auth',
  })
  .refine((url) => !/[?#]/.test(url), { error: 'must end before the query; use params' });

/** The keys that `config` has for every kind of service. */
export const targetShape = {
  base_url: baseUrl.describe(
    'Where the service is, such as https://api.example.com/v1. Holds no placeholders.',
  ),
  path: text
    .regex(/^\/[^?#]*$/, { error: "must begin with '/' and hold no query; use params" })
    .optional()
    .describe('Follows base_url. Values of {placeholders} are percent-encoded.'),
  allow_slashes: z
    .boolean()
    .optional()
    .describe(
      'Values in path may hold / and \\, sent as %2F and %5C; default false, as many services decode them.',
    ),
  headers: z.record(headerName, scalar).optional().describe('Request headers. Secrets belong in auth.'),
  response_path: text
    .optional()
    .describe('The part of the answer to return: items[0].name, or a JSON pointer as /items/0/name.'),
  timeout: seconds(3_600).optional().describe('Seconds for one try; default 30.'),
};

type TargetConfig = Pick<
  z.infer<z.ZodObject<typeof targetShape>>,
  'base_url' | 'path' | 'allow_slashes' | 'headers'
>;

/** Compiles the URL and the headers of a request; `path` leads to `config` in the document. */
export function compileTarget(
  config: TargetConfig,
  templates: TemplateCompiler,
  path: readonly PropertyKey[],
): (values: Values) => Pick<ServiceRequest, 'url' | 'headers'> {
  const urlPath = templates.requiredText(config.path ?? '', [...path, 'path']);
  const headers = templates.value(config.headers ?? {}, [...path, 'headers']);
  refuseReferences(config.headers ?? {}, templates, [...path, 'headers']);
  return (values) => ({
    url: fillUrl(config, urlPath, values),
    headers: Object.fromEntries(fillHeaders(headers, values)),
  });
}

/** Compiles the query of a request. */
export function compileQuery(
  params: Record<string, unknown>,
  templates: TemplateCompiler,
  path: readonly PropertyKey[],
): (url: URL, values: Values) => void {
  const template = templates.value(params, path);
  refuseReferences(params, templates, path);
  return (url, values) => addQuery(url, template, values);
}

/** Refuses references to secrets, which would be sent here unresolved. */
function refuseReferences(
  values: Record<string, unknown>,
  templates: TemplateCompiler,
  path: readonly PropertyKey[],
): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' && /(?:^|\s)env:[A-Za-z_]|^file:/.test(value)) {
      templates.report([...path, name], 'secrets are read only where auth.key names them; use auth');
    }
  }
}

const slashRule =
  'must not hold a slash or a backslash, encoded ones included: many services decode them, and it would name another resource';

/**
 * Fills the placeholders of a URL. Values are percent-encoded, so that none of them can leave its segment of the path. A value may hold a
 * slash only if the file allows it, because some services decode `%2F` before they read the path.
 */
function fillUrl(
  { base_url: base, allow_slashes: mayHoldSlashes }: TargetConfig,
  path: Template,
  values: Values,
): URL {
  const filled = fillText(path, values, (value, name) => {
    if (value === '') throw badArgument(name, 'must not be empty');
    if (!mayHoldSlashes && /[/\\]|%(?:25)*(?:2f|5c)/i.test(value)) throw badArgument(name, slashRule);
    return encoded(value, name);
  });
  const isRelative = filled.split(/\/|%2f|%5c/i).some((segment) => /^(?:\.|%(?:25)*2e){1,2}$/i.test(segment));
  if (isRelative) {
    throw new SignalboxError('invalid_arguments', "no part of the path may come out as '.' or '..'");
  }
  return new URL(base.replace(/\/$/, '') + filled);
}

/** Adds parameters to the query. Lists repeat their key; keys without a value are left out. */
function addQuery(url: URL, params: ValueTemplate, values: Values): void {
  const filled = Object.entries(fillValue(params, values) as Record<string, unknown>);
  const pairs = filled.flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value])
      .filter((item) => item !== null)
      .map((item) => `${encoded(key, key)}=${encoded(textOf(item), key)}`),
  );
  if (pairs.length > 0) url.search = [url.search.slice(1), ...pairs].filter(Boolean).join('&');
}

/** Fills the placeholders of headers. Headers without a value are left out. */
function fillHeaders(headers: ValueTemplate, values: Values): [string, string][] {
  return Object.entries(fillValue(headers, values) as Record<string, unknown>)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => {
      const text = textOf(value);
      if (!isHeaderValue(text)) {
        throw badArgument(name, 'a header takes one line of Latin letters, digits and signs only');
      }
      return [name.toLowerCase(), text];
    });
}

/** Tells whether a text can be the value of a header. */
export function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(text);
}

/** Percent-encodes a text for a URL; `name` is the argument or key that an error names. */
export function encoded(text: string, name: string): string {
  if (!text.isWellFormed()) throw badArgument(name, 'holds half of a Unicode character');
  return encodeURIComponent(text);
}

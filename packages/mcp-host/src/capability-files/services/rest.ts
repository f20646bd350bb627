import { isJsonObject } from '@signalbox/protocol';
import { z } from 'zod';
import { fillValue, soleName, textOf, type Values, type ValueTemplate } from '../templates/template.ts';
import { compileQuery, compileTarget, targetShape } from './request-target.ts';
import { isSuccess, parsedJson, type Reading, type ServiceAnswer, type ServiceKind } from './service.ts';

const config = z.strictObject({
  ...targetShape,
  method: z.enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']).optional().describe('Default GET.'),
  params: z
    .record(z.string(), z.json())
    .optional()
    .describe('The query. A list repeats its key; a key whose placeholder has no value is left out.'),
  body: z
    .json()
    .optional()
    .describe('Sent as JSON, or as a form if content-type is application/x-www-form-urlencoded.'),
});

const formType = 'application/x-www-form-urlencoded';

/** A plain HTTP request. JSON in an answer is parsed; any other text stays a text. */
export const rest = {
  config,
  compile(config, templates, path) {
    const target = compileTarget(config, templates, path);
    const addQuery = compileQuery(config.params ?? {}, templates, [...path, 'params']);
    const { method = 'GET' } = config;
    const body = config.body === undefined ? undefined : templates.value(config.body, [...path, 'body']);
    if (body && (method === 'GET' || method === 'HEAD')) {
      templates.report([...path, 'body'], `a ${method} request has no body; use params, or another method`);
    }
    if (body && isTextAroundPlaceholder(body)) {
      const fix = 'write a mapping, which is sent as JSON or as a form';
      templates.report([...path, 'body'], `a text around a {placeholder} could be broken out of; ${fix}`);
    }
    return {
      request(values) {
        const { url, headers } = target(values);
        addQuery(url, values);
        const accept = { accept: 'application/json, text/plain;q=0.9, */*;q=0.1', ...headers };
        const written = body && writeBody(body, values, headers['content-type']);
        if (!written) return { method, url, headers: accept, body: undefined };
        return { method, url, headers: { 'content-type': written.type, ...accept }, body: written.text };
      },
      read: (answer) => (isSuccess(answer) ? readBody(answer) : undefined),
    };
  },
} satisfies ServiceKind<z.infer<typeof config>>;

function isTextAroundPlaceholder(body: ValueTemplate): boolean {
  return 'text' in body && body.text.length > 1 && body.text.some((part) => typeof part !== 'string');
}

function writeBody(
  template: ValueTemplate,
  values: Values,
  type: string | undefined,
): { type: string; text: string } | undefined {
  const value = fillValue(template, values);
  if (value === undefined) return undefined;
  if (isJsonObject(value) && type?.toLowerCase().startsWith(formType)) {
    const pairs = Object.entries(value).flatMap(([key, item]) =>
      (Array.isArray(item) ? item : [item]).map((each): [string, string] => [key, textOf(each)]),
    );
    return { type: formType, text: new URLSearchParams(pairs).toString() };
  }
  const isPlain = typeof value === 'string' && 'text' in template && soleName(template.text) === undefined;
  const sendsText = typeof value === 'string' && type !== undefined && !/[/+]json\b/i.test(type);
  if (isPlain || sendsText) return { type: 'text/plain;charset=utf-8', text: value };
  return { type: 'application/json', text: JSON.stringify(value) };
}

function readBody({ status, mediaType, text }: ServiceAnswer): Reading {
  if (text === '') return { text: `done (HTTP ${status}, no content)` };
  const isJson = /[/+]json$/.test(mediaType);
  if (!isJson && mediaType !== '' && !isText(mediaType)) {
    return { unusable: `answers with ${mediaType.slice(0, 100)}, which is neither JSON nor text` };
  }
  if (!isJson && mediaType !== '') return { text };
  return parsedJson(text) ?? (isJson ? { unusable: 'answers with JSON that does not parse' } : { text });
}

function isText(mediaType: string): boolean {
  return /^text\/|[/+](xml|yaml|x-yaml|csv|javascript|x-ndjson|x-www-form-urlencoded)$/.test(mediaType);
}

import type { RestConfig } from './schema.ts';
import { isRecord, parsedJson, type Reading, type Service, type ServiceAnswer } from './service.ts';
import { compileBase, compileQuery } from './service-base.ts';
import { fillValue, soleName, textOf, type Values, type ValueTemplate } from './template.ts';
import type { TemplateReader } from './template-reader.ts';

const formType = 'application/x-www-form-urlencoded';

/** A plain HTTP request. An answer in JSON is read as such, any other text as text. */
export function restService(
  config: RestConfig,
  reader: TemplateReader,
  path: readonly PropertyKey[],
): Service {
  const base = compileBase(config, reader, path);
  const query = compileQuery(config.params ?? {}, reader, [...path, 'params']);
  const { method = 'GET' } = config;
  const body = config.body === undefined ? undefined : reader.value(config.body, [...path, 'body']);
  if (body && (method === 'GET' || method === 'HEAD')) {
    reader.refuse([...path, 'body'], `a ${method} request has no body; use params, or another method`);
  }
  if (body && 'text' in body && body.text.length > 1 && body.text.some((part) => typeof part !== 'string')) {
    const fix = 'write a mapping, which is sent as JSON or as a form';
    reader.refuse([...path, 'body'], `a text around a {placeholder} could be broken out of; ${fix}`);
  }
  return {
    request(values) {
      const { url, headers } = base(values);
      query(url, values);
      const accept = { accept: 'application/json, text/plain;q=0.9, */*;q=0.1', ...headers };
      const written = body && writeBody(body, values, headers['content-type']);
      if (!written) return { method, url, headers: accept, body: undefined };
      return { method, url, headers: { 'content-type': written.type, ...accept }, body: written.text };
    },
    read: (answer) => (answer.status >= 200 && answer.status < 300 ? readBody(answer) : undefined),
  };
}

function writeBody(
  template: ValueTemplate,
  values: Values,
  type: string | undefined,
): { type: string; text: string } | undefined {
  const value = fillValue(template, values);
  if (value === undefined) return undefined;
  if (isRecord(value) && type?.toLowerCase().startsWith(formType)) {
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

import { addQuery, fillAddress, fillHeaders } from './request-address.ts';
import type { RestConfig } from './schema.ts';
import type { ServiceRequest } from './service.ts';
import type { Values } from './template.ts';
import type { TemplateReader } from './template-reader.ts';

type Connection = Pick<RestConfig, 'base_url' | 'path' | 'headers'>;

/** What requests of all kinds have in common: the address and the headers. `path` leads to the configuration. */
export function compileBase(
  config: Connection,
  reader: TemplateReader,
  path: readonly PropertyKey[],
): (values: Values) => Pick<ServiceRequest, 'url' | 'headers'> {
  const address = reader.certainText(config.path ?? '', [...path, 'path']);
  const headers = reader.value(config.headers ?? {}, [...path, 'headers']);
  for (const [name, value] of Object.entries(config.headers ?? {})) {
    refuseReference(value, reader, [...path, 'headers', name]);
  }
  return (values) => ({
    url: fillAddress(config.base_url, address, values),
    headers: Object.fromEntries(fillHeaders(headers, values)),
  });
}

/** The query of a REST request. */
export function compileQuery(
  params: Record<string, unknown>,
  reader: TemplateReader,
  path: readonly PropertyKey[],
): (url: URL, values: Values) => void {
  const template = reader.value(params, path);
  for (const [name, value] of Object.entries(params)) refuseReference(value, reader, [...path, name]);
  return (url, values) => addQuery(url, template, values);
}

/** A reference here would be sent as it is written, which nobody means. */
function refuseReference(value: unknown, reader: TemplateReader, path: readonly PropertyKey[]): void {
  if (typeof value === 'string' && /(?:^|\s)env:[A-Za-z_]|^file:/.test(value)) {
    reader.refuse(path, 'secrets are read only where auth.key names them; use auth');
  }
}

import type { JsonRpcConfig } from './schema.ts';
import { isRecord, parsedJson, type Reading, type Service, type ServiceAnswer } from './service.ts';
import { compileBase } from './service-base.ts';
import { fillValue } from './template.ts';
import type { TemplateReader } from './template-reader.ts';

/** JSON-RPC 2.0 over HTTP. The result is `result`; `error` is a refusal, whatever the HTTP status. */
export function jsonRpcService(
  config: JsonRpcConfig,
  reader: TemplateReader,
  path: readonly PropertyKey[],
): Service {
  const base = compileBase(config, reader, path);
  const params = config.params === undefined ? undefined : reader.value(config.params, [...path, 'params']);
  return {
    request(values, id) {
      const { url, headers } = base(values);
      const body = {
        jsonrpc: '2.0',
        id,
        method: config.method,
        ...(params && { params: fillValue(params, values) }),
      };
      return {
        method: 'POST',
        url,
        headers: { accept: 'application/json', ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      };
    },
    read,
  };
}

function read({ status, text }: ServiceAnswer, id: string): Reading | undefined {
  const body = parsedJson(text)?.value;
  const isReply = isRecord(body) && body.jsonrpc === '2.0';
  // A server that could not read the request doesn't know its id.
  if (isReply && isRecord(body.error) && (body.id === id || body.id === null)) {
    return { refusal: messageIn(body.error) };
  }
  if (status < 200 || status >= 300) return undefined;
  if (!isReply || !('result' in body)) return { unusable: 'answers with something that is not JSON-RPC 2.0' };
  return body.id === id ? { value: body.result } : { unusable: 'answers a request that nobody made' };
}

function messageIn({ code, message, data }: Record<string, unknown>): string {
  const more = data === undefined ? '' : `\n${typeof data === 'string' ? data : JSON.stringify(data)}`;
  return `${typeof message === 'string' ? message : 'error'} (${String(code)})${more}`;
}

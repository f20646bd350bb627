import { isJsonObject } from '@signalbox/protocol';
import { z } from 'zod';
import { oneLine } from '../schema-parts.ts';
import { fillValue } from '../templates/template.ts';
import { compileTarget, targetShape } from './request-target.ts';
import {
  isSuccess,
  jsonPost,
  parsedJson,
  type Reading,
  type ServiceAnswer,
  type ServiceKind,
} from './service.ts';

const config = z.strictObject({
  ...targetShape,
  method: oneLine.describe('The method of the remote procedure call.'),
  params: z
    .union([z.record(z.string(), z.json()), z.array(z.json())], { error: 'must be a mapping or a list' })
    .optional(),
});

/** JSON-RPC 2.0 over HTTP. `error` is a refusal, under any HTTP status. */
export const jsonRpc = {
  config,
  compile(config, templates, path) {
    const target = compileTarget(config, templates, path);
    const params = config.params && templates.value(config.params, [...path, 'params']);
    return {
      request(values, id) {
        const body = {
          jsonrpc: '2.0',
          id,
          method: config.method,
          ...(params && { params: fillValue(params, values) }),
        };
        return jsonPost(target(values), 'application/json', body);
      },
      read,
    };
  },
} satisfies ServiceKind<z.infer<typeof config>>;

function read(answer: ServiceAnswer, id: string): Reading | undefined {
  const body = parsedJson(answer.text)?.value;
  const isReply = isJsonObject(body) && body.jsonrpc === '2.0';
  // A server that could not read the request doesn't know its id.
  if (isReply && isJsonObject(body.error) && (body.id === id || body.id === null)) {
    return { refusal: messageIn(body.error) };
  }
  if (!isSuccess(answer)) return undefined;
  if (!isReply || !('result' in body)) return { unusable: 'answers with something that is not JSON-RPC 2.0' };
  return body.id === id ? { value: body.result } : { unusable: 'answers a request that nobody made' };
}

function messageIn({ code, message, data }: Record<string, unknown>): string {
  const more = data === undefined ? '' : `\n${typeof data === 'string' ? data : JSON.stringify(data)}`;
  return `${typeof message === 'string' ? message : 'error'} (${String(code)})${more}`;
}

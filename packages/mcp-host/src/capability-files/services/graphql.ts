import { isJsonObject } from '@signalbox/protocol';
import { z } from 'zod';
import { oneLine, text } from '../schema-parts.ts';
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
  query: text.describe('The GraphQL document, sent as it is. Values belong in variables.'),
  variables: z.record(z.string(), z.json()).optional(),
  operation_name: oneLine.optional(),
});

/** GraphQL over HTTP. `data` is the result; `errors` make it a refusal. */
export const graphql = {
  config,
  compile(config, templates, path) {
    const target = compileTarget(config, templates, path);
    const variables = templates.value(config.variables ?? {}, [...path, 'variables']);
    return {
      request(values) {
        const body = {
          query: config.query,
          variables: fillValue(variables, values),
          ...(config.operation_name !== undefined && { operationName: config.operation_name }),
        };
        const accept = 'application/graphql-response+json, application/json;q=0.9';
        return jsonPost(target(values), accept, body);
      },
      read,
    };
  },
} satisfies ServiceKind<z.infer<typeof config>>;

function read(answer: ServiceAnswer): Reading | undefined {
  const body = parsedJson(answer.text)?.value;
  const succeeded = isSuccess(answer);
  if (!isJsonObject(body)) {
    return succeeded ? { unusable: 'answers with something that is not GraphQL' } : undefined;
  }
  const { errors, data } = body;
  if (Array.isArray(errors) && errors.length > 0 && answer.status < 500) {
    return { refusal: errors.map(messageIn).join('\n'), ...(data != null && { value: data }) };
  }
  if (!succeeded) return undefined;
  return data === undefined ? { unusable: 'answers with neither data nor errors' } : { value: data };
}

function messageIn(error: unknown): string {
  if (!isJsonObject(error) || typeof error.message !== 'string') return JSON.stringify(error);
  const where = Array.isArray(error.path) ? ` (at ${error.path.join('.')})` : '';
  return `${error.message}${where}`;
}

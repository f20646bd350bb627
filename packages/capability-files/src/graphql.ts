import type { GraphqlConfig } from './schema.ts';
import { isRecord, parsedJson, type Reading, type Service, type ServiceAnswer } from './service.ts';
import { compileBase } from './service-base.ts';
import { fillValue } from './template.ts';
import type { TemplateReader } from './template-reader.ts';

/** GraphQL over HTTP. The result is `data`; `errors` make it a refusal. */
export function graphqlService(
  config: GraphqlConfig,
  reader: TemplateReader,
  path: readonly PropertyKey[],
): Service {
  const base = compileBase(config, reader, path);
  const variables = reader.value(config.variables ?? {}, [...path, 'variables']);
  return {
    request(values) {
      const { url, headers } = base(values);
      const body = {
        query: config.query,
        variables: fillValue(variables, values),
        ...(config.operation_name !== undefined && { operationName: config.operation_name }),
      };
      return {
        method: 'POST',
        url,
        headers: {
          accept: 'application/graphql-response+json, application/json;q=0.9',
          ...headers,
          'content-type': 'application/json',
        },
        body: JSON.stringify(body),
      };
    },
    read,
  };
}

function read({ status, text }: ServiceAnswer): Reading | undefined {
  const body = parsedJson(text)?.value;
  const succeeded = status >= 200 && status < 300;
  if (!isRecord(body))
    return succeeded ? { unusable: 'answers with something that is not GraphQL' } : undefined;
  const { errors, data } = body;
  if (Array.isArray(errors) && errors.length > 0 && status < 500) {
    return { refusal: errors.map(messageIn).join('\n'), ...(data != null && { value: data }) };
  }
  if (!succeeded) return undefined;
  return data === undefined ? { unusable: 'answers with neither data nor errors' } : { value: data };
}

function messageIn(error: unknown): string {
  if (!isRecord(error) || typeof error.message !== 'string') return JSON.stringify(error);
  const where = Array.isArray(error.path) ? ` (at ${error.path.join('.')})` : '';
  return `${error.message}${where}`;
}

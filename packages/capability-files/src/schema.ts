import { z } from 'zod';
import { inWords, oneOf, strict } from './schema-words.ts';

const text = z.string({ error: inWords }).min(1, { error: 'must not be empty' });
const flag = z.boolean({ error: inWords }).optional();
const oneLine = text.regex(/^[^\r\n\0]*$/, { error: 'must be a single line' });

const name = text
  .regex(/^[A-Za-z0-9_-]{1,48}$/, { error: 'must be 1 to 48 letters, digits, _ or -' })
  .regex(/^(?!mcp_)/i, { error: "must not begin with 'mcp_', which is for the tools of MCP servers" });

const jsonSchema = z.looseObject(
  { type: z.literal('object', { error: "must be 'object'" }) },
  { error: inWords },
);

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const headerName = text
  .regex(token, { error: 'is not the name of a header' })
  .regex(/^(?!(?:host|connection|content-length|transfer-encoding|upgrade|expect|te|trailer|keep-alive)$)/i, {
    error: 'is set by the connection itself; leave it out',
  });
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

const connection = {
  base_url: baseUrl.describe(
    'Where the service is, such as https://api.example.com/v1. Holds no placeholders.',
  ),
  path: text
    .regex(/^\/[^?#]*$/, { error: "must begin with '/' and hold no query; use params" })
    .optional()
    .describe('Follows base_url. Values of {placeholders} are percent-encoded.'),
  headers: z
    .record(headerName, scalar, { error: inWords })
    .optional()
    .describe('Request headers. Secrets belong in auth.'),
  response_path: text
    .optional()
    .describe('The part of the answer to return: items[0].name, or a JSON pointer as /items/0/name.'),
  timeout: z
    .number({ error: inWords })
    .positive({ error: 'must be more than 0 seconds' })
    .max(3_600, { error: 'must be at most 3600 seconds' })
    .optional()
    .describe('Seconds for one try; default 30.'),
};

const rest = strict({
  ...connection,
  method: z
    .enum(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'], {
      error: 'must be one of: GET, HEAD, POST, PUT, PATCH, DELETE',
    })
    .optional()
    .describe('Default GET.'),
  params: z
    .record(z.string(), z.json(), { error: inWords })
    .optional()
    .describe('The query. A list repeats its key; a key whose placeholder has no value is left out.'),
  body: z
    .json()
    .optional()
    .describe('Sent as JSON, or as a form if content-type is application/x-www-form-urlencoded.'),
});

const graphql = strict({
  ...connection,
  query: text.describe('The GraphQL document, sent as it is. Values belong in variables.'),
  variables: z.record(z.string(), z.json(), { error: inWords }).optional(),
  operation_name: oneLine.optional(),
});

const jsonrpc = strict({
  ...connection,
  method: oneLine.describe('The method of the remote procedure call.'),
  params: z
    .union([z.record(z.string(), z.json()), z.array(z.json())], { error: 'must be a mapping or a list' })
    .optional(),
});

const key = text
  .regex(/^(env:[A-Za-z_][A-Za-z0-9_]*|file:[^#]+(#.+)?)$/, {
    error: 'must be env:VARIABLE, file:PATH or file:PATH#FIELD; the secret itself does not belong here',
  })
  .describe('Where the secret is: env:VARIABLE, file:PATH or file:PATH#FIELD.');
const prefix = oneLine
  .optional()
  .describe('Put before the secret; a space follows it if it ends in a letter or a digit.');

const auth = oneOf('type', [
  strict({ type: z.literal('bearer'), key, prefix }),
  strict({ type: z.literal('header'), key, header: headerName, prefix }),
  strict({ type: z.literal('query'), key, param: text }),
  strict({ type: z.literal('basic'), key }),
]);

const ownAuth = auth.optional().describe('Of this provider alone, in place of the tool’s.');
const provider = oneOf('service', [
  strict({ service: z.literal('rest'), config: rest, auth: ownAuth }),
  strict({ service: z.literal('graphql'), config: graphql, auth: ownAuth }),
  strict({ service: z.literal('jsonrpc'), config: jsonrpc, auth: ownAuth }),
]);

/** One document of a capability file, as it is written: one tool. Unknown keys are errors at every level. */
export const capabilitySchema = strict({
  name: name.describe('The name of the tool.'),
  title: oneLine.optional(),
  description: text.optional().describe('What the tool does, for the model that chooses it.'),
  schema: strict({
    input: jsonSchema.optional().describe('JSON Schema 2020-12 of the arguments; no arguments unless given.'),
    output: jsonSchema.optional().describe('JSON Schema 2020-12 of the structured result.'),
  }).optional(),
  providers: strict({
    primary: provider,
    fallback: z.array(provider, { error: inWords }).max(8, { error: 'must be at most 8' }).optional(),
  }),
  auth: auth.optional().describe('For the primary provider, and for fallbacks of the same origin.'),
  cache: strict({
    ttl: z
      .number({ error: inWords })
      .positive({ error: 'must be more than 0 seconds' })
      .max(86_400, { error: 'must be at most 86400 seconds' })
      .describe('Seconds a result holds.'),
  }).optional(),
  metadata: strict({
    read_only: flag.describe('It changes nothing: it may be repeated and cached.'),
    idempotent: flag.describe('Calling it twice is like calling it once: it may be repeated.'),
    destructive: flag.describe('It may overwrite or delete.'),
    tags: z.array(text, { error: inWords }).optional(),
  }).optional(),
});

export type CapabilityDocument = z.infer<typeof capabilitySchema>;
export type ProviderDocument = CapabilityDocument['providers']['primary'];
export type AuthDocument = NonNullable<CapabilityDocument['auth']>;
export type RestConfig = z.infer<typeof rest>;
export type GraphqlConfig = z.infer<typeof graphql>;
export type JsonRpcConfig = z.infer<typeof jsonrpc>;

/** The same as a JSON Schema, for editors. */
export function capabilityJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(capabilitySchema, { io: 'input', reused: 'ref' });
  return { $schema, title: 'Signalbox capability file: one tool per document', ...schema };
}

import { z } from 'zod';
import { oneLine, seconds, text } from '../schema-parts.ts';
import { authSchema } from '../secrets/auth-schema.ts';
import { serviceKinds } from '../services/service-kinds.ts';

const flag = z.boolean().optional();

const name = text
  .regex(/^[A-Za-z0-9_-]{1,47}$/, { error: 'must be 1 to 47 letters, digits, _ or -' })
  .regex(/^(?!mcp_)/i, { error: "must not begin with 'mcp_', which is for the tools of MCP servers" });

const jsonSchema = z.looseObject({ type: z.literal('object') });

const providerAuth = authSchema.optional().describe('Of this provider alone, in place of the tool’s.');
const providerOf = <Name extends string, Config extends z.ZodType>(service: Name, kind: { config: Config }) =>
  z.strictObject({ service: z.literal(service), config: kind.config, auth: providerAuth });
const provider = z.discriminatedUnion('service', [
  providerOf('rest', serviceKinds.rest),
  providerOf('graphql', serviceKinds.graphql),
  providerOf('jsonrpc', serviceKinds.jsonrpc),
]);

/** The schema of one document of a capability file, which describes one tool. Unknown keys are errors at every level. */
export const capabilitySchema = z.strictObject({
  name: name.describe('The name of the tool.'),
  title: oneLine.optional(),
  description: text.optional().describe('What the tool does, for the model that chooses it.'),
  schema: z
    .strictObject({
      input: jsonSchema
        .optional()
        .describe('JSON Schema 2020-12 of the arguments; no arguments unless given.'),
      output: jsonSchema.optional().describe('JSON Schema 2020-12 of the structured result.'),
    })
    .optional(),
  providers: z.strictObject({
    primary: provider,
    fallback: z.array(provider).max(8, { error: 'must be at most 8' }).optional(),
  }),
  auth: authSchema.optional().describe('For the primary provider, and for fallbacks of the same origin.'),
  cache: z.strictObject({ ttl: seconds(86_400).describe('Seconds a result holds.') }).optional(),
  metadata: z
    .strictObject({
      read_only: flag.describe('It changes nothing: it may be repeated and cached.'),
      idempotent: flag.describe('Calling it twice is like calling it once: it may be repeated.'),
      destructive: flag.describe('It may overwrite or delete.'),
      tags: z.array(text).optional(),
    })
    .optional(),
});

/** One document of a capability file. */
export type CapabilityDocument = z.infer<typeof capabilitySchema>;

/** One provider of a capability. */
export type ProviderDocument = CapabilityDocument['providers']['primary'];

/** Returns the schema of a document as JSON Schema, for editors. */
export function capabilityJsonSchema(): Record<string, unknown> {
  const { $schema, ...schema } = z.toJSONSchema(capabilitySchema, { io: 'input', reused: 'ref' });
  return { $schema, title: 'Signalbox capability file: one tool per document', ...schema };
}

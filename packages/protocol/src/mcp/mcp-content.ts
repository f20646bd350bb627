import { z } from 'zod';
import { annotationsSchema, optionalText, sharedFields } from './definition-parts.ts';

/** Accepts a prompt in MCP's own form. */
export const promptSchema = z.looseObject({
  name: z.string().min(1),
  ...sharedFields,
  arguments: z
    .array(
      z.looseObject({
        name: z.string(),
        title: optionalText,
        description: optionalText,
        required: z.boolean().optional(),
      }),
    )
    .optional(),
});
/** A prompt in MCP's own form. Unknown fields are kept. */
export type Prompt = z.infer<typeof promptSchema>;

/** Accepts a resource in MCP's own form. */
export const resourceSchema = z.looseObject({
  uri: z.string().min(1),
  name: z.string(),
  ...sharedFields,
  mimeType: optionalText,
  size: z.number().optional(),
  annotations: annotationsSchema.optional(),
});
/** A resource in MCP's own form. Unknown fields are kept. */
export type Resource = z.infer<typeof resourceSchema>;

/** Accepts a template of resources in MCP's own form. */
export const resourceTemplateSchema = z.looseObject({
  uriTemplate: z.string().min(1),
  name: z.string(),
  ...sharedFields,
  mimeType: optionalText,
  annotations: annotationsSchema.optional(),
});
/** A template of resources in MCP's own form. Unknown fields are kept. */
export type ResourceTemplate = z.infer<typeof resourceTemplateSchema>;

/** Accepts the kinds that a role may use besides tools. */
export const mcpContentKindsSchema = z.object({
  prompts: z.literal(true).optional(),
  resources: z.literal(true).optional().describe('Resources and their templates.'),
});
/** The kinds that a role may use besides tools. The policy decides, no matter which servers are up. */
export type McpContentKinds = z.infer<typeof mcpContentKindsSchema>;

/** Accepts the answer to the question which tools pages of MCP Apps may mean by a name. */
export const pageToolReplySchema = z.object({
  tools: z.array(z.string()).describe('The full names of these tools.'),
});
/** The tools that pages of MCP Apps may mean by a name. */
export type PageToolReply = z.infer<typeof pageToolReplySchema>;

/** Accepts a server's instructions. */
export const serverInstructionsSchema = z.object({ server: z.string(), text: z.string() });
/** The instructions of a hosted server for the models that use it. */
export type ServerInstructions = z.infer<typeof serverInstructionsSchema>;

/** The methods of MCP that `op: request` passes to hosted servers. */
export const mcpContentMethods = ['resources/read', 'prompts/get', 'completion/complete'] as const;
/** A method of MCP that `op: request` passes to a hosted server. */
export type McpContentMethod = (typeof mcpContentMethods)[number];

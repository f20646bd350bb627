import { z } from 'zod';
import { optionalText, sharedFields } from './definition-parts.ts';
import { unreadHints } from './mailbox-tools.ts';
import {
  mcpContentKindsSchema,
  promptSchema,
  resourceSchema,
  resourceTemplateSchema,
  serverInstructionsSchema,
} from './mcp-content.ts';

/** The fields that clients read in the schema of an object. */
const objectSchemaFields = {
  $schema: z.string().optional(),
  properties: z.record(z.string(), z.looseObject({})).optional(),
  required: z.array(z.string()).optional(),
};
const hint = z.boolean().optional();

/** Accepts a tool in MCP's own form, if all official clients accept it. */
export const toolSchema = z.looseObject({
  name: z.string().min(1),
  ...sharedFields,
  inputSchema: z.looseObject({ type: z.literal('object'), ...objectSchemaFields }),
  outputSchema: z.looseObject(objectSchemaFields).optional(),
  annotations: z
    .looseObject({
      title: optionalText,
      readOnlyHint: hint,
      destructiveHint: hint,
      idempotentHint: hint,
      openWorldHint: hint,
    })
    .optional(),
  execution: z
    .looseObject({ taskSupport: z.enum(['required', 'optional', 'forbidden']).optional() })
    .optional(),
});
/** A tool in MCP's own form. Unknown fields are kept, so that nothing a server declares is lost on the way. */
export type Tool = z.infer<typeof toolSchema>;

/** Accepts the servers that have listed no tool yet. */
export const notReadySchema = z.array(
  z.object({
    server: z.string(),
    state: z
      .enum(['starting', 'away', 'failed'])
      .describe(
        '`away`: the orchestrator of another machine that hosts it is not there, or does not have it.',
      ),
    reason: z.string().optional().describe('The last error of the server.'),
  }),
);

/** Accepts the manifest of a role. */
export const manifestSchema = z.object({
  version: z.string(),
  unchanged: z.literal(true).optional(),
  tools: z.array(toolSchema).optional(),
  prompts: z.array(promptSchema).optional(),
  resources: z.array(resourceSchema).optional(),
  resource_templates: z.array(resourceTemplateSchema).optional(),
  mcp_content: mcpContentKindsSchema
    .optional()
    .describe(
      'The kinds that the role may use besides tools. The policy decides, no matter which servers are up.',
    ),
  instructions: z
    .array(serverInstructionsSchema)
    .optional()
    .describe(
      'What servers say of themselves, of which the role sees something. It stands in first pages only.',
    ),
  cursor: z
    .string()
    .optional()
    .describe('Given if there is another page. It leads on only for the same role and in the same version.'),
  has_unlisted: z
    .literal(true)
    .optional()
    .describe(
      'The role may also call tools that are not listed, by their exact names; or there are some whose definitions are withheld, and a call of them is answered with `definition_changed`.',
    ),
  not_ready: notReadySchema
    .optional()
    .describe(
      'Servers that have told no tool yet, and of whose tools the role may be allowed to use some. It stands in first pages only, and a change of it alone does not change `version`.',
    ),
  mailbox: z
    .union([z.literal(false), z.array(z.string())])
    .optional()
    .describe('The mailbox tools that the role may see, unless it may see all: none, or those of the list.'),
  unread_hint: z
    .enum(unreadHints)
    .optional()
    .describe("How the role's agents are told of new mail, unless their faces decide it."),
  keeps_results: z
    .literal(true)
    .optional()
    .describe('Large results of the role’s calls are kept, and answered by previews of them.'),
});
/**
 * A page of the tools, prompts, resources and templates that one role sees. `version` changes with the lists, and with any other field
 * except `cursor` and `not_ready`.
 */
export type Manifest = z.infer<typeof manifestSchema>;

/** The key of a tool's `_meta` that holds the longest wait of a call for a decision, in milliseconds. */
const deadlineKey = 'signalbox/ask_deadline_ms';

/** The longest wait of a call for a decision unless the configuration sets one, in milliseconds. */
export const defaultAskDeadlineMs = 60 * 60 * 1000;

/** Returns the longest wait of the tool's calls for a decision in milliseconds; `undefined` if no call of it waits. */
export function askDeadlineOf({ _meta }: Pick<Tool, '_meta'>): number | undefined {
  const ms = _meta?.[deadlineKey];
  return typeof ms === 'number' && Number.isSafeInteger(ms) && ms > 0 ? ms : undefined;
}

/** Sets the longest wait of the tool's calls for a decision in milliseconds. A value from the server itself is removed. */
export function withAskDeadline(tool: Tool, ms: number | undefined): Tool {
  if (ms === undefined && tool._meta?.[deadlineKey] === undefined) return tool;
  const { [deadlineKey]: _claimed, ...meta } = tool._meta ?? {};
  return { ...tool, _meta: ms === undefined ? meta : { ...meta, [deadlineKey]: ms } };
}

import { z } from 'zod';
import { agentIdSchema, idSchema, roleSchema } from '../names/name-schemas.ts';
import { sampledMetrics, samplesFields } from '../wire/samples.ts';
import { boundedRecord } from './bounded-record.ts';
import { callRoundSchema } from './call-round.ts';
import { acceptDefinitionsRequestSchema, definitionsRequestSchema } from './definitions.ts';
import { hostedListRequestSchema, hostedRequestSchema, hostedSchema } from './hosted.ts';
import { mcpLogLevelSchema } from './log-message.ts';
import { mcpContentMethods } from './mcp-content.ts';
import { maxTaskRounds } from './task-rounds.ts';

const cursorSchema = z.string().max(256);

/** The shortest and the longest time for which a standing approval holds, in milliseconds. */
export const minStandingMs = 1000;
export const maxStandingMs = 24 * 60 * 60 * 1000;
/** The most characters of the arguments of a call in a brief list of approvals. */
export const briefArgumentsLength = 400;
const standingError = `must be ${minStandingMs} to ${maxStandingMs} milliseconds`;

const manifestRequestSchema = z.object({
  op: z.literal('manifest'),
  known_version: z.string().optional(),
  cursor: cursorSchema
    .optional()
    .describe('Asks for the page that the `cursor` of the page before leads to.'),
  keep: z
    .literal(true)
    .optional()
    .describe('Asks for a first page whose further pages can be read for 30 s, even if the list changes.'),
  at_once: z
    .literal(true)
    .optional()
    .describe(
      'Asks for the list as it is now. Without it, an orchestrator that has just started waits for its servers.',
    ),
  fresh: z
    .literal(true)
    .optional()
    .describe(
      'Asks for the list with the changes that servers have announced. They are waited for a second at most.',
    ),
  // Not `role`: a role that a body claims is ignored everywhere.
  as_role: roleSchema.optional().describe('Asks for the tools of another role. For operators and observers.'),
});

const callRequestSchema = z.object({
  op: z.literal('call'),
  tool: z.string().min(1).max(256),
  arguments: z.unknown().optional(),
  options: z
    .object({
      timeout_ms: z.int().positive().optional(),
      progress: z.boolean().optional(),
      log_level: mcpLogLevelSchema
        .optional()
        .describe(
          'The least level of the log messages of the server that are passed on while the call runs; default info.',
        ),
      idempotency_key: z.string().max(128).optional(),
    })
    .optional(),
  round: callRoundSchema
    .optional()
    .describe('Given by a caller that understands the reply `input_required`.'),
  maybe_started_in: idSchema
    .optional()
    .describe(
      'The epoch of the orchestrator’s journal in which the same request may have been started, on a lane that was lost before its reply.',
    ),
  hosted: hostedSchema.optional(),
  meta: boundedRecord
    .optional()
    .describe(
      'Fields of `params._meta` for the tool’s server. Those that MCP or Signalbox reserve are left out there; `traceparent` stands in the message’s header.',
    ),
});

const mcpContentRequestSchema = z.object({
  op: z.literal('request'),
  method: z.enum(mcpContentMethods),
  params: z
    .record(z.string(), z.unknown())
    .describe(
      'The parameters of the method, as MCP has them. Prompts and templates are named as the manifest names them.',
    ),
  seen_in: z
    .string()
    .max(256)
    .optional()
    .describe('The tool in whose result the URI stood: a hint for a resource that no list names.'),
  round: callRoundSchema
    .optional()
    .describe('Given by a caller that understands the reply `input_required`.'),
  hosted: hostedSchema.optional(),
  meta: boundedRecord.optional().describe('As in `call`.'),
});

const cliSchema = z.string().regex(/^[a-z0-9-]{1,32}$/);
const cliToolSchema = z.string().regex(/^[\x21-\x7e]{1,200}$/);

const askPermissionRequestSchema = z.object({
  op: z.literal('ask_permission'),
  cli: cliSchema.describe('The agent CLI that asks, such as `claude`.'),
  tool: cliToolSchema.describe('The tool of the CLI. A person is shown it as `cli:tool`.'),
  input: z.unknown().optional().describe('The arguments with which the CLI would use its tool: an object.'),
  once: z
    .boolean()
    .optional()
    .describe('True if the CLI did not tell its arguments: no standing approval answers the question.'),
  replaces: idSchema
    .optional()
    .describe('The request of an earlier question in whose place this one is asked. That one is superseded.'),
});

const notePermissionRequestSchema = z.object({
  op: z.literal('note_permission'),
  cli: cliSchema.describe('The agent CLI that asked, such as `claude`.'),
  tool: cliToolSchema.describe('The tool of the CLI, whose use was allowed without a question to a person.'),
  message: z
    .object({ id: idSchema, from: agentIdSchema })
    .describe('The message for which the turn of the agent runs: the first, if there are several.'),
});

/** The most resources that one address may follow. */
export const maxSubscriptions = 256;

const subscriptionsRequestSchema = z.object({
  op: z.literal('subscriptions'),
  uris: z
    .array(z.string().max(4096 + 512))
    .max(maxSubscriptions)
    .describe(
      'All resources of which the asker’s address wants to hear changes; it hears of no others then.',
    ),
});

/** The most pages of MCP Apps whose servers a name is looked up in. */
export const maxPages = 64;

const pageToolRequestSchema = z.object({
  op: z.literal('page_tool'),
  name: z.string().min(1).max(256).describe('The name by which a page calls a tool of its server.'),
  pages: z
    .array(z.string().max(4096 + 512))
    .max(maxPages)
    .describe('The pages that the asker has read.'),
});

const statusRequestSchema = z.object({
  op: z.literal('status'),
  request_id: idSchema,
  as_agent: agentIdSchema.optional().describe('Asks for a call of another agent. For operators.'),
});

const taskRequestSchema = z.object({
  op: z.literal('task'),
  task_id: idSchema.describe('The id of the request with which the call began.'),
  begins: z
    .literal(true)
    .optional()
    .describe(
      'Makes a task of the call, if it waits or runs now: it goes on although nobody waits for it, and its reply is kept. Sent before a client is answered with a task, or with `pending`.',
    ),
});

const cancelTaskRequestSchema = z.object({ op: z.literal('cancel_task'), task_id: idSchema });

const updateTaskRequestSchema = z.object({
  op: z.literal('update_task'),
  task_id: idSchema,
  round: z.int().min(1).max(maxTaskRounds).describe('The number after that of the round that asks.'),
  input_responses: boundedRecord.describe(
    'Answers under the names of `input_requests`. The task goes on when all are there.',
  ),
});

const cancelCallRequestSchema = z.object({
  op: z.literal('cancel_call'),
  agent: agentIdSchema.describe('The agent that made the call.'),
  request_id: idSchema,
  reason: z.string().min(1).max(500).optional().describe('Why. The agent is told.'),
});

const callsRequestSchema = z.object({
  op: z.literal('calls'),
  running: z.boolean().optional().describe('Only calls that wait or run now.'),
  since: z.number().optional().describe('Only calls received at or after this time, in epoch milliseconds.'),
  limit: z.int().min(1).max(1000).optional(),
});

const ownCallsRequestSchema = z.object({
  op: z.literal('own_calls'),
  running: z.boolean().optional().describe('Only calls that wait or run now.'),
  since: z.number().optional().describe('Only calls received at or after this time, in epoch milliseconds.'),
  limit: z.int().min(1).max(100).optional(),
});

const serversRequestSchema = z.object({ op: z.literal('servers') });

const serverRequestSchema = z.object({
  op: z.enum(['reload', 'stop', 'start']),
  server: z.string().min(1).max(256).describe('The name of a server in the configuration.'),
});

const discoverRequestSchema = z.object({
  op: z.literal('discover'),
  cursor: cursorSchema
    .optional()
    .describe('Asks for the page that the `cursor` of the page before leads to.'),
});

const explainRequestSchema = z.object({
  op: z.literal('explain'),
  role: roleSchema,
  tool: z.string().min(1).max(256),
  arguments: z
    .unknown()
    .optional()
    .describe('The arguments of a call, for rules about argument values. An object, or its JSON text.'),
});

const matrixRequestSchema = z.object({ op: z.literal('matrix') });

const samplesRequestSchema = z.object({
  op: z.literal('samples'),
  ...samplesFields(sampledMetrics.orchestrator),
});

const explainMcpContentRequestSchema = z.object({
  op: z.literal('explain_mcp_content'),
  role: roleSchema,
  kind: z.enum(['prompt', 'resource']),
  name: z.string().min(1).max(4096).describe('The name of a prompt, or the URI of a resource.'),
});

const searchRequestSchema = z.object({
  op: z.literal('search'),
  query: z.string().min(1).max(256),
  limit: z.int().min(1).max(50).optional(),
});

const backupRequestSchema = z.object({
  op: z.literal('backup'),
  directory: z.string().min(1).max(4096).describe('The directory of a backup that the broker has begun.'),
  backup_id: z.string().min(1).max(64).describe('The id of that backup.'),
});

const approvalIdSchema = z.string().min(1).max(64);
const reasonSchema = z.string().min(1).max(500);

const approvalsRequestSchema = z.object({
  op: z.literal('approvals'),
  all: z.boolean().optional().describe('Also those that have ended. Default: only those that wait.'),
  id: approvalIdSchema.optional().describe('Only this one, also if it has ended.'),
  cursor: cursorSchema
    .optional()
    .describe('Asks for the page that the `cursor` of the page before leads to.'),
  limit: z.int().min(1).max(200).optional().describe('Default: 100.'),
  brief: z
    .boolean()
    .optional()
    .describe(`Shows at most ${briefArgumentsLength} characters of the arguments of each.`),
});

const standingApprovalsRequestSchema = z.object({ op: z.literal('standing_approvals') });

const decideRequestSchema = z.object({
  op: z.literal('decide'),
  id: approvalIdSchema,
  verdict: z.enum(['approve', 'deny']),
  reason: reasonSchema.optional().describe('A denial needs one: its caller is told.'),
  for_ms: z
    .int()
    .min(minStandingMs, { error: standingError })
    .max(maxStandingMs, { error: standingError })
    .optional()
    .describe('With `approve`: later calls of this agent and tool need no decision for so long.'),
});

const revokeStandingRequestSchema = z.object({ op: z.literal('revoke_standing'), id: approvalIdSchema });

/** Accepts the body of an `mcp_request` message. */
export const mcpRequestSchema = z.discriminatedUnion('op', [
  manifestRequestSchema,
  callRequestSchema,
  mcpContentRequestSchema,
  askPermissionRequestSchema,
  notePermissionRequestSchema,
  subscriptionsRequestSchema,
  pageToolRequestSchema,
  statusRequestSchema,
  taskRequestSchema,
  cancelTaskRequestSchema,
  updateTaskRequestSchema,
  callsRequestSchema,
  ownCallsRequestSchema,
  searchRequestSchema,
  serversRequestSchema,
  serverRequestSchema,
  discoverRequestSchema,
  explainRequestSchema,
  matrixRequestSchema,
  samplesRequestSchema,
  explainMcpContentRequestSchema,
  backupRequestSchema,
  cancelCallRequestSchema,
  approvalsRequestSchema,
  standingApprovalsRequestSchema,
  decideRequestSchema,
  revokeStandingRequestSchema,
  definitionsRequestSchema,
  acceptDefinitionsRequestSchema,
  hostedRequestSchema,
  hostedListRequestSchema,
]);

/** The operations that every role may ask for. */
export const openOps = [
  'manifest',
  'call',
  'request',
  'ask_permission',
  'note_permission',
  'subscriptions',
  'page_tool',
  'status',
  'task',
  'cancel_task',
  'update_task',
  'own_calls',
  'search',
] as const;

/** The operations of orchestrators with a label. Only orchestrators may ask for them. */
export const hostedOps = ['hosted', 'hosted_list'] as const;

/** The body of an `mcp_request` message. `arguments` is an object, or the JSON text of one as language models emit it. */
export type McpRequest = z.infer<typeof mcpRequestSchema>;

/**
 * Returns a reader of requests. It compiles the schema at its first request: a compiled one gives the same results several times faster
 * (ADR 10).
 */
export function mcpRequestParser(): (json: unknown) => z.ZodSafeParseResult<McpRequest> {
  let compiled: z.ZodType<McpRequest> | undefined;
  return (json) => {
    compiled ??= z.compile(mcpRequestSchema);
    return compiled.safeParse(json);
  };
}
/** Asks the orchestrator to call a tool. */
export type CallRequest = z.infer<typeof callRequestSchema>;
/** Asks a hosted server for a resource, a prompt or a completion. It is safe to repeat. */
export type McpContentRequest = z.infer<typeof mcpContentRequestSchema>;
/** Asks a person whether an agent's CLI may use a tool of its own. The answer is a result if it may, and an error if not. */
export type AskPermissionRequest = z.infer<typeof askPermissionRequestSchema>;
/** Has the audit log note that a use of an agent CLI's own tool was allowed without a question to a person. */
export type NotePermissionRequest = z.infer<typeof notePermissionRequestSchema>;
/** Says of which resources an address wants to hear changes. */
export type SubscriptionsRequest = z.infer<typeof subscriptionsRequestSchema>;
/** Asks which tools pages of MCP Apps may mean by a name. */
export type PageToolRequest = z.infer<typeof pageToolRequestSchema>;
/** Asks for the state of an earlier call, by default one of the asker. */
export type StatusRequest = z.infer<typeof statusRequestSchema>;
/** Asks for the state of a task of the asker, or makes a task of one of its calls. */
export type TaskRequest = z.infer<typeof taskRequestSchema>;
/** Asks to cancel a task of the asker. */
export type CancelTaskRequest = z.infer<typeof cancelTaskRequestSchema>;
/** Answers questions of a task of the asker. It is sent as a message of its own: the next round of the call. */
export type UpdateTaskRequest = z.infer<typeof updateTaskRequestSchema>;
/** Asks to cancel a call of any agent that waits or runs. */
export type CancelCallRequest = z.infer<typeof cancelCallRequestSchema>;
/** Asks for a list of the tool calls of all agents. */
export type CallsRequest = z.infer<typeof callsRequestSchema>;
/** Asks for a list of the asker's own tool calls. */
export type OwnCallsRequest = z.infer<typeof ownCallsRequestSchema>;
/** Asks for the tools of a role, by default the asker’s. The answer says `unchanged` if `known_version` is still current. */
export type ManifestRequest = z.infer<typeof manifestRequestSchema>;
/** Asks for tools that match a text. */
export type SearchRequest = z.infer<typeof searchRequestSchema>;
/** Asks to reload, stop or start a server. */
export type ServerRequest = z.infer<typeof serverRequestSchema>;
/** Asks what every server lists. */
export type DiscoverRequest = z.infer<typeof discoverRequestSchema>;
/** Asks whether a role could call a tool, and why. */
export type ExplainRequest = z.infer<typeof explainRequestSchema>;
/** Asks whether a role could use a prompt or a resource, and why. */
export type ExplainMcpContentRequest = z.infer<typeof explainMcpContentRequestSchema>;
/** Asks the orchestrator to copy its journal into a backup. */
export type BackupRequest = z.infer<typeof backupRequestSchema>;
/** Asks for tool calls that wait for a decision, or have ended. */
export type ApprovalsRequest = z.infer<typeof approvalsRequestSchema>;
/** Decides on a tool call that waits. */
export type DecideRequest = z.infer<typeof decideRequestSchema>;
/** Ends a standing approval. */
export type RevokeStandingRequest = z.infer<typeof revokeStandingRequestSchema>;

/**
 * Returns the hash of a question of an agent's CLI: SHA-256 in base64url, over the JSON text of `[cli, tool, input]`. The answer has that
 * of the question which a person saw, so that the asker does not take it for another question under the same id.
 */
export async function questionHash({
  cli,
  tool,
  input,
}: Pick<AskPermissionRequest, 'cli' | 'tool' | 'input'>): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([cli, tool, input]));
  return Buffer.from(await crypto.subtle.digest('SHA-256', text)).toString('base64url');
}

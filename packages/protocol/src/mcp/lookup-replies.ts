import { z } from 'zod';
import { backupJournalSchema } from '../wire/admin/backups.ts';
import { patternWarningsSchema, serverReportSchema } from './server-report.ts';
import { notReadySchema } from './tool.ts';
import { toolCallErrorSchema } from './tool-call-error-schema.ts';

const explainedStepSchema = z.object({
  step: z.string().describe('The name of the step: `allowlist`, `arguments`, `approval`.'),
  verdict: z
    .enum(['passes', 'waits', 'depends', 'refused'])
    .describe(
      'What the step does with a call. `depends`: arguments decide that the question did not give, or a state that may change by then. No step follows `refused`.',
    ),
  says: z.string().describe('The reason, for a person.'),
  rule: z
    .string()
    .optional()
    .describe(
      "The rule that decided, as the configuration has it: `roles.reader.tools: 'mcp_x__*'`, `roles.builder.ask[0]`.",
    ),
});
/** Tells what one step would do with a call. */
export type ExplainedStep = z.infer<typeof explainedStepSchema>;

/** Accepts the answer to op `explain`. */
export const explanationSchema = z.object({
  tool: z.string(),
  role: z.string(),
  allowed: z.boolean().describe('Whether the allowlist of the role has the tool.'),
  steps: z
    .array(explainedStepSchema)
    .describe('The steps of a call, in the order in which a call passes them.'),
  exists: z.boolean(),
  hidden: z.boolean().describe('The tool can be called by its exact name, but no manifest lists it.'),
  server: z.string().optional(),
  state: serverReportSchema.shape.state.optional(),
  circuit: serverReportSchema.shape.circuit.optional(),
  running: z.number().optional().describe('Calls that run on its server, of all tools.'),
  waiting: z.number().optional().describe('Calls that wait for its server, of all tools.'),
  withheld: z
    .array(z.string())
    .optional()
    .describe(
      'Hints that its server declares since its start, and that are not honoured until the server is reloaded.',
    ),
  definition: z
    .enum(['pinned', 'changed', 'new'])
    .optional()
    .describe(
      'Of a server with `definitions: pin`: whether the definition is as pinned. A `changed` or `new` one is withheld until it is accepted.',
    ),
  changed_at: z
    .number()
    .optional()
    .describe(
      'The time of the last change of its definition while this orchestrator ran, in epoch milliseconds.',
    ),
  matches: z
    .number()
    .describe('The number of tools that the name means if it is read as a pattern, as a hold has it.'),
  nearest: z.string().optional().describe('The most similar tool that the role may call.'),
});
/** The answer to op `explain`, in `data`: whether this role could call this tool now, and the rules that decide it. */
export type Explanation = z.infer<typeof explanationSchema>;

/** Accepts the answer to op `explain_mcp_content`. */
export const mcpContentExplanationSchema = z.object({
  role: z.string(),
  kind: z.enum(['prompt', 'resource']),
  name: z.string(),
  allowed: z.boolean(),
  rule: z
    .string()
    .optional()
    .describe('The rule that decided. Absent for a resource that several servers could have.'),
  problem: z.string().optional().describe('Why no rule was asked: the URI has no normal form.'),
  exists: z.boolean().describe('Whether a server would be asked.'),
  server: z.string().optional(),
  withheld: z
    .literal(true)
    .optional()
    .describe('The definition of the prompt has changed, and nobody has accepted it yet.'),
  held: z.string().optional().describe('Who holds the role or the item, since when and why.'),
});
/** The answer to op `explain_mcp_content`, in `data`: whether this role could use the item now, and the rule that decides it. */
export type McpContentExplanation = z.infer<typeof mcpContentExplanationSchema>;

/** Accepts the answer to op `subscriptions`. */
export const subscriptionsReplySchema = z.object({
  subscribed: z.array(z.string()),
  refused: z.array(z.object({ uri: z.string(), error: toolCallErrorSchema })),
});
/** The answer to op `subscriptions`, in `data`: the resources whose changes the address gets, and those that it may not follow. */
export type SubscriptionsReply = z.infer<typeof subscriptionsReplySchema>;

/** Accepts the answer to op `search`. */
export const searchReplySchema = z.object({
  tools: z.array(
    z.object({
      name: z.string(),
      title: z.string().optional(),
      description: z.string().optional(),
      score: z.number(),
    }),
  ),
  prompts: z
    .array(
      z.object({
        name: z.string(),
        title: z.string().optional(),
        description: z.string().optional(),
        score: z.number(),
      }),
    )
    .optional(),
  resources: z
    .array(
      z.object({
        uri: z.string().optional(),
        uri_template: z.string().optional().describe('Of a template, in place of `uri`.'),
        name: z.string(),
        description: z.string().optional(),
        score: z.number(),
      }),
    )
    .optional(),
});
/** The answer to op `search`, in `data`, the best ones first. A `score` compares only entries of the same list. */
export type SearchReply = z.infer<typeof searchReplySchema>;

/** Accepts the answer to op `backup`. */
export const backupReplySchema = z.object({ journal: backupJournalSchema() });
/** The answer to op `backup`, in `data`: the journal that was copied. */
export type BackupReply = z.infer<typeof backupReplySchema>;

/** Accepts the answer to op `matrix`. */
export const matrixReplySchema = z.object({
  roles: z.array(z.string()).describe('The roles that the configuration lists.'),
  unlisted: z.boolean().describe('Whether a role that is not listed may use every tool.'),
  tools: z.array(
    z.object({
      tool: z.string(),
      server: z.string().optional().describe('The server that has it, with the name of the configuration.'),
      own: z.string().optional().describe('Its name at that server.'),
      may: z.array(z.string()).describe('The roles that may call it.'),
      asks: z.array(z.string()).describe('Of these, the roles for which each call of it waits for a person.'),
      may_ask: z
        .array(z.string())
        .describe('Those for which arguments decide whether a call waits for a person.'),
    }),
  ),
  not_ready: notReadySchema
    .optional()
    .describe('Servers that have listed no tool yet. Absent if there are none.'),
  warnings: patternWarningsSchema(),
});
/** The answer to op `matrix`, in `data`: which role may call which tool that is shown now. */
export type MatrixReply = z.infer<typeof matrixReplySchema>;

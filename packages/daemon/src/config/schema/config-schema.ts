import {
  hostLabelPattern,
  isConfiguredSenderRole,
  isLoopback,
  isRecipient,
  kindSchema,
  leastInlineBytes,
  mailboxToolNames,
  permissionsOfRole,
  roleSchema,
  servesCalls,
  unreadHints,
} from '@signalbox/protocol';
import { parseDuration, suggestion } from '@signalbox/protocol/internal';
import { z } from 'zod';
import { askRuleSchema } from './ask-schema.ts';
import { brokerSchema } from './broker-schema.ts';
import { configuredSenderNameSchema, hookEntrySchema } from './hook-schema.ts';
import {
  a2aLimitsSchema,
  callLimitsSchema,
  faceLimitsSchema,
  journalLimitsSchema,
  resultLimitsSchema,
  roleLimitNames,
  roleLimitsSchema,
} from './limits-schema.ts';
import { scheduleEntrySchema } from './schedule-schema.ts';
import { mcpServerSchema, serverLimitsSchema, serverNameSchema } from './server-schema.ts';
import {
  budgetSchema,
  duration,
  limit,
  listenSchema,
  milliseconds,
  nonEmpty,
  originSchema,
  paths,
  resourcePatterns,
  toolPatterns,
  toolRules,
} from './value-schemas.ts';

const namedRoleSchema = roleSchema.refine((role) => role !== 'observer', {
  error:
    "'observer' is the role of operators' tokens that only look and use no tool, and has no settings; take it out, or give the role another name",
});

const hostLabelSchema = z.string().regex(hostLabelPattern, {
  error: 'must be lower-case letters, digits, _ and - (at most 32), beginning with a letter or a digit',
});

const agentIdSchema = z.string().regex(/^[a-z0-9][a-z0-9_.-]{0,127}$/, {
  error: 'must be lower-case letters, digits and _.- (at most 128), beginning with a letter or a digit',
});

const orchestratorSchema = z.strictObject({
  host: hostLabelSchema
    .optional()
    .describe('label of an orchestrator that serves its tools to the one without a label, as --host does'),
  id: agentIdSchema.optional().describe('agent id of the orchestrator; default orchestrator'),
  listen: listenSchema
    .optional()
    .describe(
      'HOST:PORT at which the orchestrator answers /livez, /readyz and /metrics itself; default none. An address beyond this machine needs --insecure',
    ),
  concurrency: z
    .strictObject({
      global: limit.optional().describe('calls that run at once; default 64'),
      perServer: limit.optional().describe('calls that run at once on one server; default 16'),
      perWorker: limit.optional().describe('calls of one worker that run at once; default 8'),
      waitingPerWorker: limit.optional().describe('calls of one worker that wait for their turn; default 64'),
    })
    .optional(),
  lane: z
    .boolean()
    .optional()
    .describe(
      'false: tool calls of workers on this machine go through the broker, too, and not directly over a Unix socket; default true',
    ),
  callTimeoutMs: milliseconds
    .optional()
    .describe('longest run of a call that names no timeout; default 60000'),
  maxProcesses: limit
    .optional()
    .describe('server processes at once, all instances of all servers; default 64'),
  budgets: z
    .strictObject({
      perWorker: budgetSchema
        .optional()
        .describe("calls that each worker may make in a time; a role's own budget replaces it"),
    })
    .optional(),
  limits: z
    .strictObject({
      perServer: serverLimitsSchema.optional(),
      calls: callLimitsSchema.optional(),
      journal: journalLimitsSchema.optional(),
      results: resultLimitsSchema.optional(),
    })
    .optional(),
  definitions: z
    .enum(['follow', 'pin'])
    .optional()
    .describe('definitions of servers whose entry says nothing of them; default follow'),
  safeToRepeat: toolPatterns
    .optional()
    .describe(
      'tools, or patterns with * or server:tool, that may be called again after a call with an unknown outcome',
    ),
  neverRepeat: toolPatterns
    .optional()
    .describe(
      'tools, or patterns with * or server:tool, that must not, even if safeToRepeat or their server allows it',
    ),
});

const workerSchema = z.strictObject({
  http: listenSchema
    .optional()
    .describe(
      'HOST:PORT at which the face of signalbox up serves agents over HTTP, too, at /mcp; port 0 takes any free one. Default: on its Unix socket only',
    ),
  limits: faceLimitsSchema.optional(),
});

const skillSchema = z.strictObject({
  id: nonEmpty.describe('id of the skill'),
  name: nonEmpty.describe('its name for people'),
  description: nonEmpty.describe('what the agent does then'),
  tags: z.array(nonEmpty).optional().describe('words under which it is found; default none'),
  examples: z.array(nonEmpty).optional().describe('messages that it answers; default none'),
});

/** An agent for clients of A2A as an entry of `a2a.agents` is written. */
export const outsideAgentSchema = z.strictObject(
  {
    to: z
      .string()
      .refine(isRecipient, { error: 'must be an agent id, or a group as in role:ROLE or group:NAME' })
      .optional()
      .describe('agent or group that is asked; default the agent of this name'),
    name: nonEmpty.optional().describe('its name on its card; default the name of the entry'),
    description: nonEmpty.describe('what its card says of it; must be there'),
    skills: z
      .array(skillSchema)
      .optional()
      .describe(
        'its skills on the card, each with id, name and description, and perhaps tags and examples; default none',
      ),
  },
  { error: 'must have a description, as in { description: answers questions about our products }' },
);

const a2aSchema = z.strictObject({
  listen: listenSchema
    .optional()
    .describe('HOST:PORT of signalbox a2a serve; default 127.0.0.1:7430, port 0 takes any free one'),
  agents: z
    .record(agentIdSchema, outsideAgentSchema)
    .refine((agents) => Object.keys(agents).length > 0, { error: 'must name at least one agent' })
    .describe(
      'agents that clients of A2A may ask, by the name in their addresses: /a2a/NAME; no other agent can be asked or seen; must be there',
    ),
  roles: z
    .array(
      roleSchema.refine((role) => permissionsOfRole(role).length === 0 && !servesCalls(role), {
        error: ({ input }) => `must not be '${String(input)}': callers from outside have a role of their own`,
      }),
    )
    .min(1, { error: 'must name at least one role, as in roles: [outside]' })
    .describe('roles whose tokens clients may use; must be there'),
  url: originSchema
    .optional()
    .describe(
      'address that clients use, as in https://agents.example.com, which stands on the cards; default that of listen',
    ),
  tls: z
    .strictObject({
      cert: nonEmpty.describe(
        'certificate (PEM) that encrypts connections of clients; relative to this file',
      ),
      key: nonEmpty.describe('its private key (PEM), which no other user may read; relative to this file'),
    })
    .optional(),
  keep: duration
    .optional()
    .describe(
      'how long a task that has ended can be read, and a repeat of its message is that task, as in 7d, the default',
    ),
  deadline: duration
    .refine((text) => parseDuration(text)! <= 30 * 24 * 60 * 60 * 1000, { error: 'must be at most 30d' })
    .optional()
    .describe('how long a task may take before it fails, as in 1d, the default; at most 30d'),
  limits: a2aLimitsSchema.optional(),
});

const authSchema = z
  .strictObject({
    issuer: z
      .string()
      .refine(isSecureUrl, { error: 'must be an https:// URL, as in https://login.example.com' })
      .describe(
        'identity provider whose tokens (JWTs) the broker accepts, exactly as they name it in iss; http:// on this machine only',
      ),
    audience: nonEmpty.describe('what aud of its tokens must hold'),
    agentClaim: nonEmpty
      .optional()
      .describe('claim with the agent id, or with the pattern of a minting token; default sub'),
    roleClaim: nonEmpty.describe(
      'claim with a value, or a list of values, that auth.roles maps; a claim inside others is named with dots, as in realm_access.roles, and scope is split at its spaces',
    ),
    roles: z
      .record(z.string(), roleSchema)
      .describe('values of that claim, and the role of each; a token must lead to exactly one role'),
    permissions: z
      .record(z.string(), z.enum(['operator', 'observer', 'mint']))
      .optional()
      .describe(
        'values of that claim that give a permission (operator and observer with the role of that name, mint with any other); no other token of the provider has one',
      ),
  })
  .superRefine(({ roles, permissions = {} }, context) => {
    for (const [value, role] of Object.entries(roles)) {
      if (isConfiguredSenderRole(role)) {
        const message = `the role '${role}' is that of webhooks or schedules, which have no tokens; choose another`;
        context.addIssue({ code: 'custom', path: ['roles', value], message });
      }
      const [needed] = permissionsOfRole(role);
      const given = Object.hasOwn(permissions, value) ? permissions[value] : undefined;
      if (needed === undefined || given === needed) continue;
      const message = `the role '${role}' needs auth.permissions: { ${value}: ${needed} }`;
      context.addIssue({ code: 'custom', path: ['roles', value], message });
    }
    for (const [value, permission] of Object.entries(permissions)) {
      if (permission === 'mint' || (Object.hasOwn(roles, value) && roles[value] === permission)) continue;
      const message = `the permission '${permission}' goes only with auth.roles: { ${value}: ${permission} }`;
      context.addIssue({ code: 'custom', path: ['permissions', value], message });
    }
  });

function isSecureUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url?.protocol === 'https:') return true;
  return url?.protocol === 'http:' && isLoopback(url.hostname);
}

const mailboxSchema = z
  .union([z.literal(false), z.array(z.string())], { error: 'must be false, or a list of mailbox tools' })
  .superRefine((names, context) => {
    for (const [at, name] of (names || []).entries()) {
      if (mailboxToolNames.some((known) => known === name)) continue;
      const message = `must be one of: ${mailboxToolNames.join(', ')}${suggestion(name, mailboxToolNames)}`;
      context.addIssue({ code: 'custom', path: [at], message });
    }
  });

const unreadHintSchema = z.enum(unreadHints, {
  error: ({ input }) => `must be one of: ${unreadHints.join(', ')}${suggestion(String(input), unreadHints)}`,
});

/** A role as an entry of `roles` is written. */
export const roleEntrySchema = z.strictObject(
  {
    tools: toolRules.describe(
      'names of tools, patterns with *, or server:tool as in github:*, that the role sees and may call; { annotations: readOnly } means those that servers with definitions: pin declare read-only; must be there',
    ),
    prompts: toolPatterns
      .optional()
      .describe(
        'prompts that the role sees and may get: names, patterns with *, or server:prompt; default none',
      ),
    resources: resourcePatterns
      .optional()
      .describe(
        'resources that the role sees and may read: SERVER:URI as in files:file:///srv/docs/*; * stands for any text; default none',
      ),
    ask: z
      .array(askRuleSchema)
      .optional()
      .describe(
        'calls that wait until a person approves them: patterns of tools, { tool, when: { ARGUMENT: VALUE } } or { annotations: destructive }; default none',
      ),
    results: z
      .strictObject({
        maxInlineBytes: z
          .int()
          .min(leastInlineBytes)
          .optional()
          .describe(
            `longest result of a tool that an agent of the role is shown, in bytes of JSON, at least ${leastInlineBytes}; of a longer one it is shown a preview, and reads the rest in parts; default none`,
          ),
      })
      .optional(),
    mailbox: mailboxSchema
      .optional()
      .describe('mailbox tools that an MCP client of the role is shown: false, or a list; default all'),
    unreadHint: unreadHintSchema
      .optional()
      .describe(
        'how an agent of the role is told of new mail: text (in results without structuredContent, too), meta (in _meta and in mailbox results) or off; default text',
      ),
    budget: budgetSchema.optional().describe('calls that each worker of the role may make in a time'),
    sharedBudget: budgetSchema
      .optional()
      .describe('calls that all workers of the role together may make in a time; counts besides budget'),
    send: z
      .strictObject(
        {
          to: z.array(nonEmpty).describe('agent ids and groups, or patterns with *, as in role:*'),
          kinds: z.array(kindSchema).describe('kinds of messages'),
        },
        { error: 'must be written as { to: ["role:*"], kinds: [ask, note] }' },
      )
      .optional()
      .describe(
        'messages that the broker accepts from the role: to whom, and of which kinds; default ask, task and note to every agent and group',
      ),
    limits: roleLimitsSchema
      .optional()
      .describe(`limits for this role in place of those of broker.limits: ${roleLimitNames.join(', ')}`),
  },
  { error: 'must say what the role may use, as in { tools: ["*"] } or { tools: [] }' },
);

const approvalsSchema = z.strictObject({
  deadlineMs: milliseconds
    .min(1000)
    .optional()
    .describe('how long a call under ask waits for a decision before it ends; default 3600000'),
  notify: z
    .array(
      z.string().refine(isRecipient, {
        error: 'must be an agent id, or a group as in role:ROLE or group:NAME',
      }),
    )
    .max(16)
    .optional()
    .describe('agents and groups that get a note of each call that waits; default none'),
});

const groupNameSchema = z.string().refine((name) => isRecipient(`group:${name}`), {
  error: 'must be [a-z0-9][a-z0-9_.-]*, at most 64 characters',
});

/** A group as an entry of `groups` is written. */
export const groupEntrySchema = z.strictObject(
  {
    roles: z
      .array(roleSchema)
      .min(1, { error: 'must name at least one role, as in roles: [crawler]' })
      .describe('roles whose agents are the members; must be there'),
  },
  { error: 'must say whose agents are its members, as in { roles: [crawler] }' },
);

const hostPattern = z
  .string()
  .regex(/^((\[[0-9A-Fa-f:.*]+\]|[\p{L}\p{N}._*-]+)(:\d{1,5})?|[0-9A-Fa-f:.*]+)$/u, {
    error: "must be a host or host:port, as in 10.0.0.7 or '*.internal:8080', without scheme and path",
  });

const configKeys = z.strictObject({
  broker: brokerSchema.optional(),
  auth: authSchema.optional(),
  orchestrator: orchestratorSchema.optional(),
  worker: workerSchema.optional(),
  a2a: a2aSchema.optional(),
  mcpConfig: paths
    .optional()
    .describe(
      'files of other clients with MCP servers, relative to this file; an entry under mcpServers replaces theirs, or refines it if it has no command and no url',
    ),
  mcpServers: z
    .record(serverNameSchema, mcpServerSchema)
    .optional()
    .describe('MCP servers by name; the name is part of the names of its tools'),
  hosts: z
    .record(hostLabelSchema, z.array(serverNameSchema).max(1000))
    .optional()
    .describe(
      'servers that orchestrators with labels may offer from their own files, by label; others of theirs are refused',
    ),
  capabilities: paths.optional().describe('capability files, or folders of them, relative to this file'),
  allowHosts: z
    .array(hostPattern)
    .optional()
    .describe('hosts in private networks that capability files and sign-ins may reach nevertheless'),
  roles: z.record(namedRoleSchema, roleEntrySchema).optional().describe('roles by name'),
  groups: z
    .record(groupNameSchema, groupEntrySchema)
    .optional()
    .describe(
      'groups of agents that share an inbox, by name: group:NAME; role:ROLE is one for each role anyway',
    ),
  hooks: z
    .record(configuredSenderNameSchema, hookEntrySchema)
    .optional()
    .describe('webhooks by name: POST /hooks/NAME on the broker sends a message'),
  schedules: z
    .record(configuredSenderNameSchema, scheduleEntrySchema)
    .optional()
    .describe('schedules by name: the broker sends a message at their times'),
  approvals: approvalsSchema.optional(),
  unlisted: z
    .enum(['allow', 'deny'])
    .optional()
    .describe(
      'whether roles without an entry may use every tool or none; default deny as soon as any role is listed',
    ),
});

/** `signalbox.yaml` as it is written. Unknown keys are errors at every level. A server has one place. */
export const configSchema = configKeys.check(({ value, issues }) => {
  const places = new Map(Object.entries(value.mcpServers ?? {}).map(([name, { host }]) => [name, host]));
  for (const [label, names] of Object.entries(value.hosts ?? {})) {
    for (const [at, name] of names.entries()) {
      const isPlaced = places.has(name);
      const place = places.get(name);
      places.set(name, label);
      if (!isPlaced || place === label) continue;
      const where = place === undefined ? 'mcpServers runs it here' : `it is hosted by '${place}'`;
      issues.push({
        code: 'custom',
        input: name,
        path: ['hosts', label, at],
        message: `${where}; take '${name}' out of one of the two places`,
      });
    }
  }
});

/** The content of a `signalbox.yaml`. */
export type ConfigDocument = z.infer<typeof configSchema>;

import { z } from 'zod';
import { agentIdSchema, rolePattern } from '../../names/name-schemas.ts';
import { frameLimits } from '../frame-limits.ts';

const maxRoles = 32;
/** Matches a role, or a pattern of roles in which `*` stands for any run of characters. */
const rolePatternOf = /^[a-z0-9_.*-]{1,64}$/;
const maxExitCode = 2 ** 32 - 1;

/** Describes the operations on tokens. */
export function tokenOperations() {
  return {
    token_issue: {
      meaning: 'Issues a token.',
      params: tokenRequestSchema(),
      result: z.object({
        id: z.string(),
        agent: z.string(),
        role: z.string(),
        roles: mintedRoles(),
        approves: approvedRoles(),
        expires_at: z.number().optional().describe('Absent if it never expires.'),
        token: z.string().describe('The secret, which the broker does not keep.'),
      }),
    },
    token_list: {
      meaning: 'Lists the valid tokens.',
      params: z.object({}),
      result: z.object({ tokens: z.array(listedTokenSchema()) }),
    },
    token_revoke_agent: {
      meaning:
        'Revokes every token of an agent, also those that minting tokens issued for it, as `token_revoke` does. For a pattern: the minting tokens with exactly this pattern, and those that they issued. Refused for the agent that asks.',
      params: z.object({
        agent: z
          .string({ error: 'must be an agent id' })
          .describe('An agent id, or the pattern of minting tokens.'),
      }),
      result: z.object({
        agent: z.string(),
        ids: z.array(z.string()).describe('The tokens that were revoked.'),
      }),
    },
    token_revoke: {
      meaning:
        'Revokes a token and those that it issued. Their connections end, and their `mcp_request`s that were not started are taken back.',
      params: z.object({
        id: z.string({ error: "must be a token's id" }),
        exited: workerExitSchema()
          .optional()
          .describe('Given by the supervisor of a worker’s process: below.'),
      }),
      result: z.object({
        id: z.string(),
        revoked: z.literal(true),
        told: z.boolean().optional().describe('Given with `exited.tell`: the event was stored.'),
        held_ids: z
          .array(z.string())
          .optional()
          .describe('Given with `exited`: messages that the worker had and did not settle.'),
      }),
    },
  };
}

function tokenRequestSchema() {
  const role = 'must be a role: [a-z0-9][a-z0-9_.-]*';
  const roles = `must be a list of 1 to ${maxRoles} roles`;
  const approves = `must be a list of 1 to ${maxRoles} roles or patterns such as build-*`;
  const ttl = `must be a whole number of milliseconds from 1 to ${frameLimits.lifetimeMs}`;
  return z.object({
    agent: z
      .string({ error: 'must be an agent id' })
      .describe('An agent id, or a pattern such as `ci-*` for a minting token.'),
    role: z.string({ error: role }).regex(rolePattern, { error: role }),
    roles: z
      .array(z.string({ error: role }).regex(rolePattern, { error: role }), { error: roles })
      .min(1, { error: roles })
      .max(maxRoles, { error: roles })
      .optional()
      .describe(
        'For a minting token: the roles that its tokens may have, of which `role` is one. Default: `role` alone.',
      ),
    approves: z
      .array(z.string({ error: approves }).regex(rolePatternOf, { error: approves }), { error: approves })
      .min(1, { error: approves })
      .max(maxRoles, { error: approves })
      .optional()
      .describe(
        'Gives the permission `approver`: roles on whose tool calls the token decides, or patterns with `*`. For operators to issue, and for no minting token.',
      ),
    read_bodies: z
      .literal(true)
      .optional()
      .describe('Gives an observer the permission `read-bodies`. For operators to issue.'),
    ttl_ms: z
      .int({ error: ttl })
      .positive({ error: ttl })
      .max(frameLimits.lifetimeMs, { error: ttl })
      .nullable()
      .optional()
      .describe(
        '`null` for no end. Default: for an agent or a minting token 30 days, or the rest of the life of the minting token that issues it if that is shorter; for an operator, an observer or an orchestrator no end.',
      ),
  });
}

function mintedRoles() {
  return z
    .array(z.string())
    .optional()
    .describe('The roles that the tokens of a minting token may have, where it is more than its own.');
}

function approvedRoles() {
  return z
    .array(z.string())
    .optional()
    .describe('The roles on whose tool calls it decides, or patterns with `*`.');
}

function listedTokenSchema() {
  return z
    .object({
      id: z.string(),
      agent: z.string().describe('An agent id, or the pattern of a minting token.'),
      role: z.string(),
      roles: mintedRoles(),
      approves: approvedRoles(),
      permissions: z
        .array(z.string())
        .describe(
          '`operator`, `observer`, `approver`, `mint` or `read-bodies`, several of them, or nothing.',
        ),
      created_at: z.number(),
      expires_at: z.number().optional().describe('Absent if it never expires.'),
      parent_id: z
        .string()
        .optional()
        .describe(
          'The token that it ends with: the minting token that issued it, or the one with which a browser signed in that issued it.',
        ),
      sign_in: z
        .literal(true)
        .optional()
        .describe('It is the sign-in of a browser; `parent_id` is the token of the person.'),
      damaged: z
        .literal(true)
        .optional()
        .describe('The disk damaged its row: it authenticates nobody, and what is said of it may be wrong.'),
    })
    .meta({ id: 'ListedToken', title: 'token', description: 'A valid token without its secret.' });
}

function workerExitSchema() {
  const code = 'must be a whole number, or null';
  const signal = 'must be the name of a signal such as SIGKILL, or null';
  return z
    .object(
      {
        tell: agentIdSchema.optional().describe('The agent that is to know. Default: nobody.'),
        code: z
          .int({ error: code })
          .min(-maxExitCode, { error: code })
          .max(maxExitCode, { error: code })
          .nullable()
          .describe('The exit code.'),
        signal: z
          .string({ error: signal })
          .regex(/^SIG[A-Z0-9+-]{1,16}$/, { error: signal })
          .nullable()
          .describe('The name of the signal.'),
      },
      { error: 'must be an object with code and signal, and perhaps tell' },
    )
    .meta({ id: 'WorkerExit', title: 'worker exit', description: 'How the process of a worker ended.' });
}

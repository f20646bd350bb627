import { posix, win32 } from 'node:path';
import {
  acceptClock,
  answerRequest,
  cancelCall,
  decideApproval,
  dropDeadLetters,
  forgetThread,
  issueToken,
  placeHold,
  queryOrchestrator,
  releaseHolds,
  retryDeadLetters,
  revokeAgentTokens,
  revokeStandingApproval,
  revokeToken,
  stopWork,
} from '@signalbox/client/operator';
import { checkToolPattern } from '@signalbox/client/operator/internal';
import {
  frameLimits,
  holdSubjects,
  idPattern,
  maxHolds,
  maxStandingMs,
  messageOf,
  minStandingMs,
  operationPermissions,
  SignalboxError,
} from '@signalbox/protocol';
import { z } from 'zod';
import { type ApiContext, type ApiOperation, address, operation } from './operation.ts';

const { admin, request, frame } = operationPermissions;

const personName = /^[a-z0-9][a-z0-9_-]{0,63}$/;
const lifetime = z.int().min(1).nullable().optional();

const seqs = z.object({ seqs: z.array(z.int().min(1)).min(1).max(10_000) });
const server = z.object({ server: z.string().min(1).max(256) });
const id = z.string().min(1).max(256);
const line = z.string().min(1).max(1000);

/** The broker may run on another operating system than the browser. */
function isAbsolutePath(path: string): boolean {
  return posix.isAbsolute(path) || win32.isAbsolute(path);
}

/** The commands of the API by path. Each does the same as a command of the CLI, and the broker's audit log names the caller. */
export const commands: Readonly<Record<string, ApiOperation>> = {
  'approvals/decide': operation({
    method: 'POST',
    needs: request.decide,
    meaning:
      'Approves a tool call that waits, or denies it with a reason; with `for_ms`, further calls of its agent and tool need no decision for so long. `decided` is false if somebody was faster.',
    params: z.object({
      id,
      verdict: z.enum(['approve', 'deny']),
      reason: line.optional(),
      for_ms: z.int().min(minStandingMs).max(maxStandingMs).optional(),
    }),
    run: ({ client, orchestrator }, { id: approval, verdict, reason, for_ms: forMs }) =>
      decideApproval(client, orchestrator, approval, {
        verdict,
        ...(reason !== undefined && { reason }),
        ...(forMs !== undefined && { forMs }),
      }),
  }),
  'approvals/revoke-standing': operation({
    method: 'POST',
    needs: request.revoke_standing,
    meaning: 'Ends a standing approval: later calls wait for a decision again.',
    params: z.object({ id }),
    run: async ({ client, orchestrator }, { id: standing }) => ({
      revoked: await revokeStandingApproval(client, orchestrator, standing),
    }),
  }),
  'holds/place': operation({
    method: 'POST',
    needs: admin.hold,
    meaning:
      'Holds an agent, a role, tools or everything. Names that nobody knows are refused, unless it is `unchecked`; `note` says that no orchestrator could check the tools.',
    params: z.object({
      on: z.enum(holdSubjects),
      name: id.optional(),
      reason: line,
      for_ms: z.int().min(1).optional(),
      until: z.int().min(1).optional(),
      cancel_running: z.boolean().optional(),
      unchecked: z.boolean().optional(),
    }),
    run: async (context, hold) => {
      const note = hold.on === 'tool' && !hold.unchecked ? await checkTools(context, hold.name ?? '') : {};
      return { hold: await placeHold(context.client, hold), ...note };
    },
  }),
  'holds/release': operation({
    method: 'POST',
    needs: admin.release,
    meaning: 'Releases holds by their ids.',
    params: z.object({ ids: z.array(id).min(1).max(maxHolds) }),
    run: async ({ client }, { ids }) => ({ released: await releaseHolds(client, { ids }) }),
  }),
  'definitions/accept': operation({
    method: 'POST',
    needs: request.accept_definitions,
    meaning:
      'Shows agents the definitions of a pinned server that are withheld, and pins them. If the server has changed anything since they were `seen`, nothing is accepted.',
    params: z.object({ server: z.string().min(1).max(256), seen: z.string().min(1).max(64) }),
    run: ({ client, orchestrator }, params) =>
      queryOrchestrator(client, orchestrator, { op: 'accept_definitions', ...params }),
  }),
  'dead-letters/retry': operation({
    method: 'POST',
    needs: admin.dead_retry,
    meaning: 'Stores dead letters in their inboxes again.',
    params: seqs,
    run: ({ client }, params) => retryDeadLetters(client, params.seqs),
  }),
  'dead-letters/drop': operation({
    method: 'POST',
    needs: admin.dead_drop,
    meaning: 'Forgets dead letters for good.',
    params: seqs,
    run: ({ client }, params) => dropDeadLetters(client, params.seqs),
  }),
  'threads/forget': operation({
    method: 'POST',
    needs: admin.thread_forget,
    meaning: 'Forgets what is kept of a thread, for good.',
    params: z.object({ thread: id }),
    run: async ({ client }, { thread }) => ({ forgotten: await forgetThread(client, thread) }),
  }),
  'messages/send': operation({
    method: 'POST',
    needs: ['operator'],
    meaning:
      'Sends a note to an agent or a group. The `Idempotency-Key` is the id of the message, so that the broker stores it once.',
    params: z.object({ to: z.string().min(1).max(256), text: z.string().min(1).max(100_000) }),
    run: async ({ client, key }, { to, text }) => {
      const note = { to, kind: 'note', body: text, ...(key !== undefined && { id: key }) };
      const { id, duplicate } = await client.deliver(note);
      return { id, duplicate };
    },
  }),
  'messages/answer': operation({
    method: 'POST',
    needs: frame.answer,
    meaning:
      'Answers what an agent asked an operator, and takes it out of the inbox that was `asked`. `already_answered` names who was faster. The `Idempotency-Key` is the id of the answer.',
    params: z.object({
      to: address,
      id: z.string().regex(idPattern, 'must be the id of the question'),
      asked: address,
      text: z.string().trim().min(1).max(100_000),
    }),
    run: async ({ client, key }, { id: correlationId, text: body, ...places }) => {
      const { duplicate } = await answerRequest(client, {
        ...{ correlationId, body, ...places },
        ...(key !== undefined && { id: key }),
      });
      return { duplicate };
    },
  }),
  'calls/cancel': operation({
    method: 'POST',
    needs: request.cancel_call,
    meaning: 'Cancels a tool call of any agent that waits or runs, and tells whether it may have run.',
    params: z.object({
      agent: z.string().min(1).max(256),
      id: z.string().min(1).max(64),
      reason: z.string().min(1).max(500).optional(),
    }),
    run: ({ client, orchestrator }, { agent, id, reason }) =>
      cancelCall(client, orchestrator, { agent, requestId: id }, reason),
  }),
  'turns/stop': operation({
    method: 'POST',
    needs: admin.stop_work,
    meaning:
      'Stops the turn in which an agent works on a message of a sender: all messages of the turn become dead letters.',
    params: z.object({ agent: id, id: z.string().min(1).max(64), sender: id }),
    run: async ({ client }, work) => ({ stopped: await stopWork(client, work) }),
  }),
  backup: operation({
    method: 'POST',
    needs: admin.backup_begin,
    meaning:
      'Begins a backup into a directory of the broker’s machine, which must be absolute, and empty or absent. It is given up when the sign-in asks nothing for a minute.',
    params: z.object({
      directory: z
        .string()
        .max(frameLimits.pathLength)
        .refine(isAbsolutePath, { error: 'must be an absolute path of the broker’s machine' }),
    }),
    run: async ({ client, orchestrator, backup, now }, { directory }) => {
      await backup.begin(client, orchestrator, directory, now);
      return backup.state;
    },
  }),
  'tokens/issue': operation({
    method: 'POST',
    needs: ['operator'],
    meaning:
      'Issues a token for an agent, or for a person, and answers with it once. `ttl_ms` is `null` for no end, within the bounds that the guide names.',
    isSecret: true,
    params: z.discriminatedUnion('for', [
      z.object({
        for: z.literal('agent'),
        agent: z.string().min(1).max(128),
        role: z.string().min(1).max(64),
        approves: z.array(z.string().min(1).max(64)).min(1).max(32).optional(),
        ttl_ms: lifetime,
      }),
      z.object({
        for: z.literal('person'),
        name: z.string().regex(personName, 'must be lower-case letters, digits, _ and -'),
        permissions: z.enum(['operator', 'observer']),
        ttl_ms: lifetime,
      }),
    ]),
    run: ({ client, signedIn, now }, params) => {
      const { ttl_ms: ttlMs } = params;
      if (params.for === 'person') {
        const { name, permissions: role } = params;
        // The broker reads its clock a moment earlier or later.
        const rest = Math.max(1, signedIn.expiresAt - now() - 1000);
        return issueToken(client, { agent: `operator.${name}`, role, ttlMs: ttlMs ?? rest });
      }
      const { agent, role, approves } = params;
      return issueToken(client, { agent, role, approves, ttlMs });
    },
  }),
  'tokens/revoke': operation({
    method: 'POST',
    needs: admin.token_revoke_agent,
    meaning: 'Revokes a token and those that it issued; their connections end.',
    params: z.object({ id: z.string().min(1).max(256) }),
    run: async ({ client }, { id }) => {
      await revokeToken(client, id);
      return { id };
    },
  }),
  'agents/revoke': operation({
    method: 'POST',
    needs: admin.token_revoke_agent,
    meaning: 'Revokes all tokens of an agent; its connections end.',
    params: z.object({ agent: z.string().min(1).max(256) }),
    run: async ({ client }, { agent }) => ({ ids: await revokeAgentTokens(client, agent) }),
  }),
  'servers/reload': operation({
    method: 'POST',
    needs: request.reload,
    meaning: 'Starts an MCP server again, with the configuration that is in force.',
    params: server,
    run: ({ client, orchestrator }, params) =>
      queryOrchestrator(client, orchestrator, { op: 'reload', ...params }, { timeoutMs: 60_000 }),
  }),
  'servers/stop': operation({
    method: 'POST',
    needs: request.stop,
    meaning: 'Stops an MCP server until it is started.',
    params: server,
    run: ({ client, orchestrator }, params) =>
      queryOrchestrator(client, orchestrator, { op: 'stop', ...params }, { timeoutMs: 60_000 }),
  }),
  'servers/start': operation({
    method: 'POST',
    needs: request.start,
    meaning: 'Starts an MCP server that was stopped.',
    params: server,
    run: ({ client, orchestrator }, params) =>
      queryOrchestrator(client, orchestrator, { op: 'start', ...params }, { timeoutMs: 60_000 }),
  }),
  'clock/accept': operation({
    method: 'POST',
    needs: admin.clock_accept,
    meaning: 'Makes the broker trust its clock: messages that it held back expire.',
    params: z.object({}),
    run: async ({ client }) => ({ hold: await acceptClock(client) }),
  }),
};

/**
 * Refuses a pattern that matches no tool. Without an answer of the orchestrator the hold is placed all the same: a hold must not fail then.
 */
async function checkTools({ client, orchestrator }: ApiContext, pattern: string): Promise<{ note?: string }> {
  try {
    await checkToolPattern(client, orchestrator, pattern);
    return {};
  } catch (error) {
    if (!(error instanceof SignalboxError) || error.code === 'unknown_hold') throw error;
    return { note: `the orchestrator does not say whether there is such a tool: ${messageOf(error)}` };
  }
}

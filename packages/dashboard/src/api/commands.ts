import {
  acceptClock,
  dropDeadLetters,
  queryOrchestrator,
  retryDeadLetters,
  revokeAgentTokens,
  revokeToken,
} from '@signalbox/operator';
import { operationPermissions } from '@signalbox/protocol';
import { z } from 'zod';
import { type ApiOperation, operation } from './operation.ts';

const { admin, request } = operationPermissions;

const seqs = z.object({ seqs: z.array(z.int().min(1)).min(1).max(10_000) });
const server = z.object({ server: z.string().min(1).max(256) });

/** The commands of the API by path. Each does what a command of the CLI does, and the broker's audit log says who asked. */
export const commands: Readonly<Record<string, ApiOperation>> = {
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
    meaning: 'Has the broker believe its clock: what it held back expires.',
    params: z.object({}),
    run: async ({ client }) => ({ hold: await acceptClock(client) }),
  }),
};

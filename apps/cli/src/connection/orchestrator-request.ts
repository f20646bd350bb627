import type { RequestOptions } from '@signalbox/client';
import {
  isAddress,
  type McpReply,
  type McpRequest,
  mcpReplySchema,
  SignalboxError,
} from '@signalbox/protocol';
import type { z } from 'zod';
import { withdrawOnSignal } from '../process/stop-signals.ts';
import { type Session, withSession } from './client-session.ts';
import type { ConnectionFlags } from './connection.ts';
import { failedRequest } from './failed-request.ts';

/** The orchestrator that is asked; by default the one of the configuration. */
export interface OrchestratorChoice {
  orchestrator?: string;
}

/** The options of commands that ask the orchestrator. */
export interface ToolsFlags extends ConnectionFlags, OrchestratorChoice {
  json?: boolean;
}

/** Asks the orchestrator a question that is no call, and reads the answer. Rejects with the orchestrator's own error. */
export async function askForData<T>(
  flags: ToolsFlags,
  request: Exclude<McpRequest, { op: 'call' }>,
  schema: z.ZodType<T>,
  timeoutMs = 10_000,
): Promise<T> {
  return await withSession(flags, async (session) => {
    using withdrawal = withdrawOnSignal();
    const { signal } = withdrawal;
    const options = { timeoutMs, ephemeral: true, signal };
    return dataOf(await askOrchestrator(session, flags, request, options), schema);
  });
}

/** Sends a request to the orchestrator and reads the reply, which may be an error of the orchestrator. */
export async function askOrchestrator(
  { client, connection }: Session,
  { orchestrator = connection.orchestrator }: OrchestratorChoice,
  request: McpRequest,
  options: RequestOptions,
): Promise<McpReply> {
  if (!isAddress(orchestrator)) {
    throw new SignalboxError('usage', `--orchestrator '${orchestrator}' is not an agent id`, {
      details: {
        hint: 'ids are lower-case, as in orchestrator; leave it out to take the one of the configuration',
      },
    });
  }
  const outcome = await client.request(orchestrator, 'mcp_request', request, options);
  if (outcome.status !== 'completed') throw failedRequest(outcome, request, orchestrator);
  const parsed = mcpReplySchema.safeParse(outcome.reply.json);
  if (!parsed.success) throw strangeReply();
  return 'error' in parsed.data ? parsed.data : (outcome.reply.json as McpReply);
}

/** Reads the `data` of a reply by its schema. Throws the reply's error. */
export function dataOf<T>(reply: McpReply, schema: z.ZodType<T>): T {
  if (!('data' in reply)) throw replyError(reply);
  const parsed = schema.safeParse(reply.data);
  if (!parsed.success) throw strangeReply();
  return parsed.data;
}

/** Turns a reply that is not what was asked for into an error, with every field of the orchestrator's own. */
export function replyError(reply: McpReply): SignalboxError {
  if (!('error' in reply)) return strangeReply();
  const { code, message, retryable, ...details } = reply.error;
  return new SignalboxError(code, message, { retryable, details });
}

function strangeReply(): SignalboxError {
  return new SignalboxError(
    'bad_body',
    'the orchestrator answered another question than the one that was asked',
    {
      details: { hint: 'broker, orchestrator and this command may be of different versions' },
    },
  );
}

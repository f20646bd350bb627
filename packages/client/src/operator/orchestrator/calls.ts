import type { BrokerClient } from '@signalbox/client';
import { type CallRecord, type CallStatus, type CancelCallReply, SignalboxError } from '@signalbox/protocol';
import { queryOrchestrator } from './orchestrator-request.ts';

/** Selects tool calls. `since` is a time in epoch milliseconds. */
export interface CallQuery {
  /** Only calls that wait or run now. */
  running?: boolean;
  since?: number;
  limit?: number;
}

/** The largest number of calls that the orchestrator lists at a time. */
export const maxCalls = 1000;
/** The largest number of calls that it lists to their own agent at a time. */
export const maxOwnCalls = 100;

/**
 * Lists the tool calls that an orchestrator knows, in the order in which it received them. Rejects at once with `no_consumer` if no
 * orchestrator of this name is connected.
 */
export async function listCalls(
  client: BrokerClient,
  orchestrator: string,
  query: CallQuery = {},
): Promise<CallRecord[]> {
  await requireOrchestrator(client, orchestrator);
  return await queryCalls(client, orchestrator, query);
}

/**
 * Lists the tool calls of the client's own agent that an orchestrator knows, in the order in which it received them: those whose status the
 * client's role may read.
 */
export async function listOwnCalls(
  client: BrokerClient,
  orchestrator: string,
  query: CallQuery = {},
): Promise<CallRecord[]> {
  const request = { op: 'own_calls' as const, limit: maxOwnCalls, ...query };
  const { calls } = await queryOrchestrator(client, orchestrator, request);
  return calls.sort((a, b) => a.received_at - b.received_at);
}

/** Lists tool calls as {@link listCalls}, without looking for the orchestrator first: a missing one is `timed_out`. */
export async function queryCalls(
  client: BrokerClient,
  orchestrator: string,
  query: CallQuery,
): Promise<CallRecord[]> {
  const request = { op: 'calls' as const, limit: maxCalls, ...query };
  const { calls } = await queryOrchestrator(client, orchestrator, request);
  return calls.sort((a, b) => a.received_at - b.received_at);
}

/** Names a tool call: the agent that made it, and the id of its request. */
export interface NamedCall {
  agent: string;
  requestId: string;
}

/** Reads the status of a call of any agent, with its reply if that is kept. For operators. */
export async function readCall(
  client: BrokerClient,
  orchestrator: string,
  { agent, requestId }: NamedCall,
): Promise<CallStatus> {
  const request = { op: 'status' as const, request_id: requestId, as_agent: agent };
  return await queryOrchestrator(client, orchestrator, request);
}

/**
 * Cancels a waiting or running tool call of any agent. Resolves when it has ended, or 5 s later. Its tool may have taken effect;
 * `may_have_run` says whether. For operators. Rejects with `invalid_arguments` if the orchestrator does not know the call.
 */
export async function cancelCall(
  client: BrokerClient,
  orchestrator: string,
  { agent, requestId }: NamedCall,
  reason?: string,
): Promise<CancelCallReply> {
  const request = { op: 'cancel_call' as const, agent, request_id: requestId };
  return await queryOrchestrator(client, orchestrator, {
    ...request,
    ...(reason !== undefined && { reason }),
  });
}

/** Rejects with `no_consumer` if no orchestrator of this name is connected. */
export async function requireOrchestrator(client: BrokerClient, orchestrator: string): Promise<void> {
  const connected = await client.listConnected({ role: 'orchestrator' });
  if (connected.some(({ address }) => address === orchestrator)) return;
  throw new SignalboxError('no_consumer', `no orchestrator named '${orchestrator}' is connected`, {
    retryable: true,
    details: { hint: 'start one with: signalbox orchestrator   (signalbox up runs one)' },
  });
}

import { z } from 'zod';
import { boundedRecord } from './bounded-record.ts';

const maxStateLength = 262_144;

/** Accepts a round in the body of a call. */
export const callRoundSchema = z.object({
  client_capabilities: boundedRecord.optional(),
  is_older_client: z.literal(true).optional(),
  input_responses: boundedRecord.optional(),
  request_state: z.string().max(maxStateLength).optional(),
});

/**
 * The part of a call that lets its tool ask for input (MCP 2026-07-28), under MCP's own names: the kinds of input that the client can give
 * and, in a further round, its answers and the state that the tool returned. Servers of older revisions get none of these.
 */
export interface CallRound {
  clientCapabilities?: Record<string, unknown>;
  /** True for a client of the revisions up to 2025-11-25, which servers ask by requests of their own. */
  isOlderClient?: true;
  inputResponses?: Record<string, unknown>;
  requestState?: string;
}

/** Converts a round to its form in the body of a call. */
export function toWireRound(round: CallRound): z.infer<typeof callRoundSchema> {
  const { clientCapabilities, isOlderClient, inputResponses, requestState } = round;
  return {
    ...(clientCapabilities && { client_capabilities: clientCapabilities }),
    ...(isOlderClient && { is_older_client: true }),
    ...(inputResponses && { input_responses: inputResponses }),
    ...(requestState !== undefined && { request_state: requestState }),
  };
}

/** Converts a round from its form in the body of a call. */
export function fromWireRound(wire: z.infer<typeof callRoundSchema>): CallRound {
  const { client_capabilities: capabilities, input_responses: responses, request_state: state } = wire;
  return {
    ...(capabilities && { clientCapabilities: capabilities }),
    ...(wire.is_older_client && { isOlderClient: true }),
    ...(responses && { inputResponses: responses }),
    ...(state !== undefined && { requestState: state }),
  };
}

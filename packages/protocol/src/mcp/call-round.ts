import { z } from 'zod';

const maxNames = 64;
const maxStateLength = 262_144;

const named = z
  .record(z.string(), z.unknown())
  .refine((value) => Object.keys(value).length <= maxNames, `must have at most ${maxNames} entries`);

/**
 * What an MCP client says with a call about being asked back (MCP 2026-07-28): what it can be asked for, and in a further round
 * its answers and the state that the tool gave it. Only a server of that revision reads any of it.
 */
export const callRoundSchema = z.object({
  client_capabilities: named.optional(),
  input_responses: named.optional(),
  request_state: z.string().max(maxStateLength).optional(),
});

/** {@link callRoundSchema} under MCP's own names. */
export interface CallRound {
  clientCapabilities?: Record<string, unknown>;
  inputResponses?: Record<string, unknown>;
  requestState?: string;
}

/** A round as it stands in the body of a call. */
export function toWireRound(round: CallRound): z.infer<typeof callRoundSchema> {
  const { clientCapabilities, inputResponses, requestState } = round;
  return {
    ...(clientCapabilities && { client_capabilities: clientCapabilities }),
    ...(inputResponses && { input_responses: inputResponses }),
    ...(requestState !== undefined && { request_state: requestState }),
  };
}

/** The inverse of {@link toWireRound}. */
export function fromWireRound(wire: z.infer<typeof callRoundSchema>): CallRound {
  const { client_capabilities: capabilities, input_responses: responses, request_state: state } = wire;
  return {
    ...(capabilities && { clientCapabilities: capabilities }),
    ...(responses && { inputResponses: responses }),
    ...(state !== undefined && { requestState: state }),
  };
}

/** Whether a result asks its caller for input instead of ending the call: the caller calls again, with the answers. */
export function isInputRequired(result: Record<string, unknown>): boolean {
  return result.resultType === 'input_required';
}

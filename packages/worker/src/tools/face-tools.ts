import type { CallToolResult } from '@modelcontextprotocol/server';
import type { CallRound, InputRequired, Tool } from '@signalbox/protocol';
import type { ToolProgress } from '../executor/tool-call.ts';

/** A `tools/call` as it reached a face. */
export interface FaceCall {
  name: string;
  /** An object, or the JSON text of one. */
  arguments: unknown;
  /** Aborted when the client cancels the call, hangs up, or the face ends. */
  signal: AbortSignal;
  /** What the client can be asked for, and in a further round of one call its answers. */
  round: CallRound;
  /** There if the client asked for progress. Signs of life are the face's own business. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/**
 * How a call ended; `outputSchema` is the one its tool is listed with. An `input_required` result, as its MCP server gave it,
 * ends only this round: the client is to call again with its answers.
 */
export interface FaceAnswer {
  result: CallToolResult | InputRequired;
  outputSchema?: Tool['outputSchema'] | undefined;
}

/** Tools that a face shows to one agent, and the way to call them. */
export interface FaceTools {
  /** In the order in which clients see them. */
  list(): Tool[];
  /**
   * `undefined` if there is no tool of that name here. A failure of the tool is a result with `isError`; rejects with the
   * SDK's `ProtocolError` where MCP wants an error instead.
   */
  call(call: FaceCall): Promise<FaceAnswer> | undefined;
  /** Tells of each change of the list; returns a function that ends it. */
  onChanged(listener: () => void): () => void;
  /** What a model should know of these tools, a sentence or two an item. */
  instructions(): string[];
}

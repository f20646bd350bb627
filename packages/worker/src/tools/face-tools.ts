import type { CallRound, InputRequired, Tool } from '@signalbox/protocol';
import type { ToolProgress } from '../executor/tool-call.ts';
import type { ToolResult } from './tool-result.ts';

/** One call of a tool by an agent. */
export interface FaceCall {
  name: string;
  /** An object, or the JSON text of one. */
  arguments: unknown;
  /** Aborted when the client cancels the call, hangs up, or the face ends. */
  signal: AbortSignal;
  /** The kinds of input that the client can be asked for, and its answers in a further round of one call. */
  round: CallRound;
  /** Set if the client asked for progress. */
  onProgress?: ((progress: ToolProgress) => void) | undefined;
}

/**
 * The result of a call; `outputSchema` is the one with which its tool is listed. A result that asks for input, as the MCP server
 * gave it, ends only this round: the client is to call again with the answers.
 */
export interface FaceAnswer {
  result: ToolResult | InputRequired;
  outputSchema?: Tool['outputSchema'] | undefined;
}

/** A set of tools that one agent is shown. */
export interface FaceTools {
  /** Lists the tools in the order in which clients see them. */
  list(): Tool[];
  /**
   * Calls a tool; returns `undefined` if there is no tool of that name here. A failure of the tool is a result with `isError`;
   * rejects with `JsonRpcError` where MCP wants an error instead.
   */
  call(call: FaceCall): Promise<FaceAnswer> | undefined;
  /** Calls `listener` at each change of the list; returns a function that removes it. */
  onChanged(listener: () => void): () => void;
  /** Returns what a model should know of these tools, a sentence or two an item. */
  instructions(): string[];
}

import type { Tool } from '@signalbox/protocol';
import type { CheckedArguments } from '@signalbox/serving';
import type { CallOptions, ToolCallResult } from './tool-call.ts';

/** A problem of a source of tools, or of one of its tools. */
export interface ToolProblem {
  tool?: string;
  message: string;
  /** True if its definition is withheld until it is accepted. */
  isWithheld?: true;
  /** True if it is shown, in a form that clients accept. */
  isMended?: true;
}

/** A secret, and the place that it comes from in words for people, such as `mcpServers.files.env.API_KEY`. */
export interface NamedSecret {
  value: string;
  source: string;
}

/** A source of tools that is not an MCP server, for example the capability files. */
export interface ToolProvider {
  /** The name that stands in place of a server's name in routes and reports. */
  readonly name: string;
  /** Returns the tools under their final names, which belong to no server; the same array until something changes. */
  tools(): readonly Tool[];
  /** Returns the problems: the tools that could not be shown, and the reasons. */
  problems(): readonly ToolProblem[];
  /** Returns the secrets that it sends to services, so that they can be hidden elsewhere. */
  secrets(): readonly NamedSecret[];
  /**
   * Checks the arguments of a call of one of {@link tools}, and returns them as {@link call} gets them. Without it they are checked against
   * the input schema of the tool.
   */
  check?(tool: string, args: Record<string, unknown>): CheckedArguments;
  /** Calls one of {@link tools} with arguments that were checked. Never rejects. */
  call(tool: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult>;
  /** Calls `listener` when the tools or problems have changed. Returns a function that removes the listener. */
  onChanged(listener: () => void): () => void;
}

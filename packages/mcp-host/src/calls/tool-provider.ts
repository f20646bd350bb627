import type { Tool } from '@signalbox/protocol';
import type { ToolProblem } from '../inventory/tool-list.ts';
import type { CallOptions, ToolCallResult } from './tool-call.ts';

/** A source of tools that is no MCP server, as the capability files. */
export interface ToolProvider {
  /** Stands where a server's name would, in routes and reports. */
  readonly name: string;
  /** Under their final names, which belong to no server. The same array until something changes. */
  tools(): readonly Tool[];
  /** What could not be offered, and why. */
  problems(): readonly ToolProblem[];
  /** Calls one of {@link tools}. Never rejects. */
  call(tool: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolCallResult>;
  /** Told when the tools or problems have changed. Returns the way to stop that. */
  onChanged(listener: () => void): () => void;
}

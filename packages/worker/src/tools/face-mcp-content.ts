import type {
  CallRound,
  InputRequired,
  McpContentKinds,
  McpContentMethod,
  Prompt,
  RequestMeta,
  Resource,
  ResourceTemplate,
  ToolCallError,
} from '@signalbox/protocol';

/** A request of a client for a resource, a prompt or a completion. */
export interface McpContentAsk {
  method: McpContentMethod;
  params: Record<string, unknown>;
  signal: AbortSignal;
  /** Set if the client's revision has results that ask for input. */
  round?: CallRound | undefined;
  meta?: RequestMeta | undefined;
}

/** The prompts and resources that one agent may see. */
export interface FaceMcpContent {
  /** The kinds that the agent may be shown. */
  kinds(): McpContentKinds;
  prompts(): readonly Prompt[];
  resources(): readonly Resource[];
  templates(): readonly ResourceTemplate[];
  /** Asks the server that has the item, and resolves with its result unchanged. Rejects with `JsonRpcError`. */
  ask(ask: McpContentAsk): Promise<Record<string, unknown> | InputRequired>;
  /** Replaces the resources whose changes a holder is told about. Resolves with those that the agent may not follow, and the errors. */
  follow(holder: unknown, uris: ReadonlySet<string>): Promise<Map<string, ToolCallError>>;
  /** Calls `listener` with each followed resource that has changed; returns a function that removes it. */
  onUpdated(listener: (uri: string) => void): () => void;
  /** Calls `listener` with the kinds whose lists have changed; returns a function that removes it. */
  onChanged(listener: (changed: McpContentKinds) => void): () => void;
}

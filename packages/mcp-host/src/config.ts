/** An MCP server run as a child process that speaks JSON lines on its standard input and output. */
export interface StdioServerConfig {
  type: 'stdio';
  command: string;
  args?: string[];
  /** Added to the small environment every server gets; names that start with `SIGNALBOX_` are left out. */
  env?: Record<string, string>;
  cwd?: string;
  /** The longest a single call may take, in milliseconds; the caller's deadline applies as well. */
  timeoutMs?: number;
}

/** An MCP server behind a Streamable HTTP endpoint. */
export interface HttpServerConfig {
  type: 'http';
  url: string;
  headers?: Record<string, string>;
  /** The longest a single call may take, in milliseconds; the caller's deadline applies as well. */
  timeoutMs?: number;
}

export type McpServerConfig = StdioServerConfig | HttpServerConfig;

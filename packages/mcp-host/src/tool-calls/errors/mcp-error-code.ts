/** The error codes of JSON-RPC 2.0 and MCP 2026-07-28 that decide what a failed call means. */
export const mcpErrorCode = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** The headers of an HTTP request contradict its body. */
  headerMismatch: -32020,
  missingRequiredClientCapability: -32021,
  unsupportedProtocolVersion: -32022,
} as const;

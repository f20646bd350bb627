/** JSON-RPC's code for parameters that a method can't take; MCP uses it for the name of a tool that there is not. */
export const invalidParams = -32602;

/** A call that MCP answers with a JSON-RPC error and not with a result. */
export class JsonRpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

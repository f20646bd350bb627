/** JSON-RPC's code for parameters that a method can't take; MCP uses it for the name of an unknown tool. */
export const invalidParams = -32602;

/** The code of revisions up to 2025-11-25 for an unknown resource. */
export const resourceNotFound = -32002;

/** JSON-RPC's code for a request that could not be answered, through no fault of its sender. */
export const internalError = -32603;

/** A call that MCP answers with a JSON-RPC error and not with a result. */
export class JsonRpcError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }

  /** Returns the error as JSON-RPC writes it. */
  toRpc(): { code: number; message: string; data?: unknown } {
    const { code, message, data } = this;
    return { code, message, ...(data !== undefined && { data }) };
  }
}

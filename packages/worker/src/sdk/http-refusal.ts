/** The reason why a request is not served: an HTTP status, and a sentence that says what to do about it. */
export interface HttpRefusal {
  status: number;
  message: string;
  /** JSON-RPC error code; default -32000. */
  code?: number;
  /** The `data` of the JSON-RPC error. */
  data?: unknown;
  headers?: Readonly<Record<string, string>>;
}

/** Makes the body of a refusal, as MCP clients read it: a JSON-RPC error. `id` is the request's, if it is known. */
export function refusalMessage(
  { message, code = -32000, data }: HttpRefusal,
  id: string | number | null = null,
): object {
  return { jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id };
}

/** Refuses for now, because the broker or the orchestrator is missing, or too many agents are connected. */
export function unavailable(message: string, retryAfterMs = 2_000): HttpRefusal {
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  return { status: 503, message, headers: { 'retry-after': String(seconds) } };
}

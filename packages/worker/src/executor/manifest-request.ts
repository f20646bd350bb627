import type { BrokerClient } from '@signalbox/client';
import {
  type Manifest,
  type ManifestRequest,
  mcpReplySchema,
  readWholeManifest,
  SignalboxError,
} from '@signalbox/protocol';

const attemptMs = 10_000;

/**
 * Reads the whole list of tools of the agent's role from the orchestrator. If no orchestrator is connected, or one disconnects before it
 * answers, the request is repeated for `timeoutMs`. `fresh` includes the changes that servers have announced. Throws `SignalboxError`; a
 * failure is never an empty list.
 */
export async function requestManifest(
  client: BrokerClient,
  orchestrator: string,
  knownVersion: string | undefined,
  options: { timeoutMs: number; signal: AbortSignal; fresh: boolean },
): Promise<Manifest> {
  const deadline = performance.now() + options.timeoutMs;
  return await readWholeManifest((request) => {
    const isFirst = options.fresh && request.cursor === undefined;
    const asked = isFirst ? { ...request, fresh: true as const } : request;
    return requestPage(client, orchestrator, asked, { deadline, signal: options.signal });
  }, knownVersion);
}

async function requestPage(
  client: BrokerClient,
  orchestrator: string,
  request: ManifestRequest,
  { deadline, signal }: { deadline: number; signal: AbortSignal },
): Promise<Manifest> {
  for (;;) {
    const left = deadline - performance.now();
    const outcome = await client.request(orchestrator, 'mcp_request', request, {
      timeoutMs: Math.max(1, Math.min(attemptMs, left)),
      ephemeral: true,
      signal,
    });
    if (outcome.status === 'completed') return readManifest(outcome.reply.json, orchestrator);
    const cause = 'error' in outcome ? outcome.error : undefined;
    const isAway = outcome.status === 'timed_out' || cause?.code === 'no_consumer';
    if (!isAway || performance.now() >= deadline) {
      const code = cause?.code ?? outcome.status;
      const reason = 'reason' in outcome ? `${code} (${outcome.reason})` : code;
      throw manifestError(orchestrator, code, cause?.message ?? reason, cause ?? { retryable: isAway });
    }
  }
}

function readManifest(json: unknown, orchestrator: string): Manifest {
  const parsed = mcpReplySchema.safeParse(json);
  if (parsed.success && 'manifest' in parsed.data) return (json as { manifest: Manifest }).manifest;
  if (parsed.success && 'error' in parsed.data) {
    const { code, message } = parsed.data.error;
    throw manifestError(orchestrator, code, message, parsed.data.error);
  }
  throw manifestError(orchestrator, 'bad_body', 'its answer cannot be read', { retryable: false });
}

function manifestError(
  orchestrator: string,
  code: string,
  reason: string,
  cause: { retryable: boolean },
): SignalboxError {
  const message = `'${orchestrator}' gave no list of tools: ${reason}`;
  return new SignalboxError(code, message, { retryable: cause.retryable, cause });
}

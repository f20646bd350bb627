import type { BrokerClient, RequestOptions } from '@signalbox/client';
import { type DiscoveryReply, type Manifest, readWholeManifest } from '@signalbox/protocol';
import { queryOrchestrator, replyError, sendOrchestratorRequest } from './orchestrator-request.ts';

const manifestTimeoutMs = 10_000;
/** Long enough to start every server and to list its tools, in milliseconds. */
const discoverTimeoutMs = 60_000;

/**
 * Reads the whole list of tools of a role: the client's own, or for operators and observers any other. Servers that are still starting are
 * not waited for; `not_ready` names them. Waits 10 s for each page, unless `timeoutMs` is given. Rejects as {@link queryOrchestrator}.
 */
export async function readManifest(
  client: BrokerClient,
  orchestrator: string,
  { role, timeoutMs = manifestTimeoutMs }: { role?: string; timeoutMs?: number } = {},
): Promise<Manifest> {
  const options: RequestOptions = { timeoutMs, ephemeral: true };
  return await readWholeManifest(async (request) => {
    const asked = { ...request, at_once: true as const, ...(role !== undefined && { as_role: role }) };
    const reply = await sendOrchestratorRequest(client, orchestrator, asked, options);
    if ('manifest' in reply) return reply.manifest;
    throw replyError(reply);
  });
}

/** Lists the tools of every MCP server, and starts servers that have not been needed yet. One that could not be asked has an error. */
export async function discoverServers(
  client: BrokerClient,
  orchestrator: string,
  { signal }: { signal?: AbortSignal } = {},
): Promise<DiscoveryReply['servers']> {
  const servers = new Map<string, DiscoveryReply['servers'][number]>();
  let cursor: string | undefined;
  do {
    const query = { op: 'discover' as const, ...(cursor !== undefined && { cursor }) };
    const options = { timeoutMs: discoverTimeoutMs, ...(signal && { signal }) };
    const page = await queryOrchestrator(client, orchestrator, query, options);
    for (const entry of page.servers) {
      const known = servers.get(entry.server);
      servers.set(entry.server, known ? { ...known, tools: [...known.tools, ...entry.tools] } : entry);
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return [...servers.values()];
}

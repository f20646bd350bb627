import {
  type McpReply,
  type McpRequest,
  messageOf,
  openOps,
  type SearchReply,
  type SearchRequest,
  type Sender,
  toolCallError,
} from '@signalbox/protocol';
import type { RoleView } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import type { ManifestPages } from '../pages/manifest-pages.ts';
import { answerBackup, type BackupDeps } from './backup.ts';
import { answerCalls, answerStatus, type CallLookupDeps } from './call-lookup.ts';
import { explainTool } from './explain-tool.ts';
import {
  answerDiscover,
  answerServer,
  answerServers,
  type ServerOperationDeps,
} from './server-operations.ts';

const defaultSearchLimit = 10;
/** The longest title and description of a tool that was found, in characters. */
const descriptionLength = 4000;

/** The dependencies of {@link answerOperation}. */
export interface OperationDeps extends CallLookupDeps, ServerOperationDeps, BackupDeps {
  catalogs: CatalogTracker;
  manifests: ManifestPages;
}

/** A request for any operation but a tool call. */
type OperationRequest = Exclude<McpRequest, { op: 'call' }>;

/**
 * Answers a request for any operation but a tool call. The role that the broker attests decides what the asker may see
 * and do. Never rejects.
 */
export async function answerOperation(
  deps: OperationDeps,
  asker: Sender,
  request: OperationRequest,
): Promise<McpReply> {
  const { op } = request;
  const isForAll = openOps.some((open) => open === op);
  if (!isForAll && asker.role !== 'operator') {
    const message = `op '${op}' is not allowed for role '${asker.role}'; it is for operators only`;
    return { error: toolCallError('permission_denied', message, { mayHaveRun: false }) };
  }
  try {
    return await answerAllowed(deps, asker, request);
  } catch (thrown) {
    deps.log({ event: 'request_panicked', op, agent: asker.agent, reason: messageOf(thrown) });
    return { error: toolCallError('tool_panicked', messageOf(thrown), { mayHaveRun: false }) };
  }
}

async function answerAllowed(
  deps: OperationDeps,
  asker: Sender,
  request: OperationRequest,
): Promise<McpReply> {
  const { catalogs } = deps;
  switch (request.op) {
    case 'manifest':
      return deps.manifests.answer(asker.role, (await catalogs.current()).view(asker.role), request);
    case 'status':
      return answerStatus(deps, asker, request);
    case 'search': {
      const catalog = await catalogs.current();
      const view = asker.role === 'operator' ? catalog.everything() : catalog.view(asker.role);
      return { data: await findTools(view, request) };
    }
    case 'calls':
      return answerCalls(deps, request);
    case 'servers':
      return answerServers(deps);
    case 'reload':
    case 'stop':
    case 'start':
      return answerServer(deps, asker, request);
    case 'discover':
      return answerDiscover(deps, asker, request);
    case 'backup':
      return answerBackup(deps, asker, request);
    case 'explain':
      return { data: await explainTool(deps, request) };
  }
}

async function findTools(
  view: RoleView,
  { query, limit = defaultSearchLimit }: SearchRequest,
): Promise<SearchReply> {
  const found = await view.search(query, limit);
  return {
    tools: found.map(({ tool: { name, title, description }, score }) => ({
      name,
      ...(title !== undefined && { title: title.slice(0, descriptionLength) }),
      ...(description !== undefined && { description: description.slice(0, descriptionLength) }),
      score,
    })),
  };
}

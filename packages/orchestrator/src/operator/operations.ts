import {
  type AcceptDefinitionsReply,
  type CancelCallReply,
  isPermitted,
  type ManifestRequest,
  type McpReply,
  type McpRequest,
  messageOf,
  type NotePermissionRequest,
  operationPermissions,
  type Permission,
  permissionsOfRole,
  type SearchReply,
  type SearchRequest,
  type Sender,
  toolCallError,
} from '@signalbox/protocol';
import { listPermissions } from '@signalbox/protocol/internal';
import type { SampleKeeper } from '@signalbox/serving/monitoring';
import { permissionsOf } from '../approvals/deciders.ts';
import type { AuditTrail } from '../audit/audit-trail.ts';
import type { BudgetLedger } from '../budgets/budget-ledger.ts';
import { panicError } from '../calls/tool-refusals.ts';
import type { RoleView } from '../catalog/catalog.ts';
import type { CatalogTracker } from '../catalog/catalog-tracker.ts';
import { missingServersOf } from '../catalog/missing-servers.ts';
import type { HeldCalls } from '../holds/held-calls.ts';
import { answerPageTool } from '../mcp-content/page-tool.ts';
import type { Subscriptions } from '../mcp-content/subscriptions.ts';
import type { ManifestPages } from '../pages/manifest-pages.ts';
import { answerCancelTask, answerTask, type TaskDeps } from '../tasks/answer-task.ts';
import {
  type ApprovalOperationDeps,
  answerApprovals,
  answerDecide,
  answerRevokeStanding,
  answerStandingApprovals,
} from './approval-operations.ts';
import { answerBackup, type BackupDeps } from './backup.ts';
import { answerCalls, answerOwnCalls, answerStatus, type CallLookupDeps } from './call-lookup.ts';
import { answerCancelCall, type CancelCallDeps } from './cancel-call.ts';
import {
  answerAcceptDefinitions,
  answerDefinitions,
  type DefinitionOperationDeps,
} from './definition-operations.ts';
import { explainMcpContent } from './explain-mcp-content.ts';
import { explainTool } from './explain-tool.ts';
import { matrixOf } from './matrix.ts';
import {
  answerDiscover,
  answerServer,
  answerServers,
  type ServerOperationDeps,
} from './server-operations.ts';

const defaultSearchLimit = 10;
/** The longest title and description of a found tool, in characters. */
const descriptionLength = 4000;

/** The dependencies of {@link answerOperation}. */
export interface OperationDeps
  extends CallLookupDeps,
    ServerOperationDeps,
    BackupDeps,
    CancelCallDeps,
    TaskDeps,
    ApprovalOperationDeps,
    DefinitionOperationDeps {
  /** Reports the requests of operators to the audit log. */
  audit: Pick<AuditTrail, 'record' | 'recordBefore'>;
  catalogs: CatalogTracker;
  holds: HeldCalls;
  budgets: BudgetLedger;
  manifests: ManifestPages;
  subscriptions: Subscriptions;
  /** Keeps samples of the figures of calls for a day. */
  samples: Pick<SampleKeeper, 'read'>;
}

/**
 * A request for any operation except a tool call or one of its rounds, other requests to a hosted server, and a question of an agent's CLI.
 */
type OperationRequest = Exclude<
  McpRequest,
  { op: 'call' | 'request' | 'ask_permission' | 'update_task' | 'hosted' | 'hosted_list' }
>;

/** Answers a request for any of these operations. The role that the broker attests decides what the asker may see and do. Never rejects. */
export async function answerOperation(
  deps: OperationDeps,
  asker: Sender,
  request: OperationRequest,
): Promise<McpReply> {
  const { op } = request;
  const needs = neededFor(request, asker.role);
  if (needs && !isPermitted(needs, permissionsOf(asker))) {
    const { agent, role } = asker;
    const outcome = 'permission_denied';
    deps.audit.record({ code: 'call_refused', agent, role, name: op, outcome, detail: `operation ${op}` });
    const what = `${op}'${ofOthers[op] ?? ''}`;
    const message = `'${what} needs a token with the permission ${listPermissions(needs)}, and this one has the role '${asker.role}'`;
    return { error: toolCallError(outcome, message, { mayHaveRun: false }) };
  }
  try {
    const reply = await answerAllowed(deps, asker, request);
    if (permissionsOf(asker).length > 0) auditOperation(deps, asker, request, reply);
    return reply;
  } catch (thrown) {
    deps.log({ event: 'request_panicked', op, agent: asker.agent, reason: messageOf(thrown) });
    return { error: panicError({ mayHaveRun: false }) };
  }
}

/** The end of a refusal, for each operation that everybody may request for their own role or calls. */
const ofOthers: Partial<Record<string, string>> = {
  manifest: ' of another role',
  status: ' of another agent',
};

/** Returns the permissions of which the asker needs one; `undefined` if everybody may ask. */
function neededFor(request: OperationRequest, ownRole: string): readonly Permission[] | undefined {
  const { request: byOp, frame } = operationPermissions;
  if (request.op === 'manifest') {
    return request.as_role === undefined || request.as_role === ownRole ? undefined : frame.manifest;
  }
  if (request.op === 'status' && request.as_agent !== undefined) return frame.status;
  return request.op in byOp ? byOp[request.op as keyof typeof byOp] : undefined;
}

/**
 * Reports an operator's change or read to the audit log. The broker itself records backups, and operations that everybody may ask for are
 * not recorded.
 */
function auditOperation(
  { audit }: OperationDeps,
  { agent, role }: Sender,
  request: OperationRequest,
  reply: McpReply,
): void {
  const { op } = request;
  const who = { agent, role };
  const outcome = 'error' in reply ? reply.error.code : 'ok';
  switch (op) {
    case 'reload':
    case 'stop':
    case 'start':
      audit.record({ code: 'server_changed', ...who, name: request.server, detail: op, outcome });
      return;
    case 'cancel_call': {
      if (!('data' in reply)) return;
      const { cancelled, state } = reply.data as CancelCallReply;
      if (!cancelled) return;
      const why = request.reason === undefined ? '' : `: ${request.reason}`;
      const detail = `of ${request.agent}, ${state}${why}`;
      audit.record({ code: 'call_cancelled', ...who, request_id: request.request_id, detail, outcome });
      return;
    }
    case 'calls':
    case 'servers':
    case 'explain':
    case 'matrix':
    case 'explain_mcp_content':
    case 'discover':
    case 'approvals':
    case 'standing_approvals':
    case 'definitions':
      audit.record({ code: 'calls_read', ...who, name: op, detail: op, outcome });
      return;
    case 'accept_definitions': {
      const { server, name } = request;
      if (!('data' in reply)) return;
      const { accepted } = reply.data as AcceptDefinitionsReply;
      const named = accepted.map(({ kind, name, hash }) => `${kind} ${name} ${hash}`).join('; ');
      const detail = `${accepted.length}${name === undefined ? ', all that were withheld' : ''}: ${named}`;
      audit.record({ code: 'definitions_accepted', ...who, name: server, detail, outcome });
      return;
    }
    case 'decide':
    case 'revoke_standing': {
      const detail = `approval ${request.id}`;
      if ('error' in reply) audit.record({ code: 'call_refused', ...who, name: op, detail, outcome });
      return;
    }
    case 'manifest':
      if (request.as_role === undefined || request.cursor !== undefined) return;
      audit.record({
        code: 'calls_read',
        ...who,
        name: op,
        detail: `tools of role ${request.as_role}`,
        outcome,
      });
      return;
    case 'status':
      audit.record({
        code: 'calls_read',
        ...who,
        name: op,
        detail: `request ${request.request_id}${request.as_agent === undefined ? '' : ` of ${request.as_agent}`}`,
        outcome,
      });
      return;
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
      return answerManifest(deps, request.as_role ?? asker.role, request);
    case 'note_permission':
      return await notePermission(deps, asker, request);
    case 'subscriptions': {
      await catalogs.current();
      const data = deps.subscriptions.set(asker, request.uris);
      await deps.subscriptions.prune();
      return { data };
    }
    case 'page_tool':
      return answerPageTool(await catalogs.current(), asker.role, request);
    case 'status':
      return answerStatus(deps, asker, request);
    case 'task':
      return await answerTask(deps, asker, request);
    case 'cancel_task':
      return await answerCancelTask(deps, asker, request);
    case 'search': {
      const catalog = await catalogs.current();
      const view = permissionsOfRole(asker.role).length > 0 ? catalog.everything() : catalog.view(asker.role);
      return { data: await findTools(view, request) };
    }
    case 'calls':
      return answerCalls(deps, request);
    case 'cancel_call':
      return await answerCancelCall(deps, asker, request);
    case 'own_calls':
      return answerOwnCalls(deps, asker, request);
    case 'servers':
      return await answerServers(deps, asker);
    case 'reload':
    case 'stop':
    case 'start':
      return answerServer(deps, asker, request);
    case 'discover':
      return answerDiscover(deps, asker, request);
    case 'backup':
      return answerBackup(deps, asker, request);
    case 'explain':
      return await explainTool(deps, request);
    case 'matrix':
      return { data: matrixOf(catalogs.present(), deps.host.missing()) };
    case 'samples':
      return { data: await deps.samples.read(request) };
    case 'explain_mcp_content':
      return await explainMcpContent(deps, request);
    case 'approvals':
      return await answerApprovals(deps, asker, request);
    case 'standing_approvals':
      return await answerStandingApprovals(deps, asker);
    case 'decide':
      return await answerDecide(deps, asker, request);
    case 'revoke_standing':
      return await answerRevokeStanding(deps, asker, request);
    case 'definitions':
      await catalogs.current();
      return await answerDefinitions(deps, request);
    case 'accept_definitions':
      return await answerAcceptDefinitions(deps, asker, request);
  }
}

/** Reports a permission that was given without a person, and answers when the audit log has it: the tool is used after that. */
async function notePermission(
  { audit }: OperationDeps,
  { agent, role }: Sender,
  { cli, tool, message }: NotePermissionRequest,
): Promise<McpReply> {
  const detail = `--permissions allow, in the turn of the message '${message.id}' of '${message.from}'`;
  await audit.recordBefore({ code: 'permission_allowed', agent, role, name: `${cli}:${tool}`, detail });
  return { data: {} };
}

/** The longest wait of a list for changes that servers have announced, in milliseconds. */
const longestFreshMs = 1_000;

/** Answers with the list of `role`, and with the servers that may add to it when they are ready. */
async function answerManifest(
  { host, catalogs, manifests }: OperationDeps,
  role: string,
  request: ManifestRequest,
): Promise<McpReply> {
  if (request.fresh) await host.listsRead(longestFreshMs);
  const catalog = request.at_once ? catalogs.present() : await catalogs.current();
  const notReady = missingServersOf(host.missing(), catalog.allowlist, role);
  return manifests.answer(role, catalog.view(role), request, notReady);
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
    ...(await view.searchMcpContent(query, limit)),
  };
}

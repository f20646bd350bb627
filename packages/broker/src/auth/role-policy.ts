import { agentOf } from '@signalbox/protocol';
import type { TokenRegistry } from './token-registry.ts';

/** The rules of a role beyond the fixed ones. Patterns are agent ids, or a beginning and `*`. */
export interface RolePolicy {
  /** Agents it may write to; default every agent. */
  to?: readonly string[];
  /** Kinds it may send unasked; default ask, task, note. */
  kinds?: readonly string[];
  /** Roles it may list as connected; default every role. */
  list?: readonly string[];
}

const defaultKinds = ['ask', 'task', 'note'];
const answers = new Set(['reply', 'progress']);

/** True for the roles that no policy holds back. */
export function isPrivileged(role: string): boolean {
  return role === 'operator' || role === 'orchestrator';
}

/** The judgement of a deliver: allowed, allowed only as the answer to a request that the sender was sent, or refused. */
export type Verdict = 'allowed' | 'only_as_answer' | { refusal: string };

/** Judges a deliver by roles, kind and address alone. Asks for the recipient's role where that matters. */
export function judgeDeliver(
  role: string,
  policy: RolePolicy | undefined,
  { kind, to }: { kind: string; to: string },
  roles: Pick<TokenRegistry, 'rolesOf'>,
): Verdict {
  if (isPrivileged(role)) return 'allowed';
  if (answers.has(kind)) return 'only_as_answer';
  if (kind === 'mcp_request') {
    if (isOrchestrator(agentOf(to), roles)) return 'allowed';
    return { refusal: `'mcp_request' goes to an orchestrator only, and '${to}' is none` };
  }
  const kinds = policy?.kinds ?? defaultKinds;
  if (!kinds.includes(kind)) {
    return { refusal: `role '${role}' may not send kind '${kind}'; it may send: ${kinds.join(', ')}` };
  }
  if (!mayWriteTo(policy, agentOf(to))) {
    return { refusal: `role '${role}' may not send to '${to}'` };
  }
  return 'allowed';
}

function isOrchestrator(agent: string, roles: Pick<TokenRegistry, 'rolesOf'>): boolean {
  return agent === 'orchestrator' || roles.rolesOf(agent).has('orchestrator');
}

/** True if this role may write to that agent at all. */
export function mayWriteTo(policy: RolePolicy | undefined, agent: string): boolean {
  return policy?.to?.some((pattern) => covers(pattern, agent)) ?? true;
}

/** True if this role may see agents of that role in `list_connected`. */
export function mayList(policy: RolePolicy | undefined, role: string): boolean {
  return policy?.list?.some((pattern) => covers(pattern, role)) ?? true;
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

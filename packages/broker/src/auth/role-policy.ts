import { agentOf, hostRole, isGroup, isHostAgent } from '@signalbox/protocol';
import type { TokenRegistry } from './token-registry.ts';

/** The configurable rules of a role. An entry is a name, or the beginning of names followed by `*`. */
export interface RolePolicy {
  /** The agents and groups to which it may send; groups only with an entry such as `role:*`, or `*`. Default: all. */
  to?: readonly string[];
  /** The kinds that it may send unasked, by their exact names. Default: ask, task and note. */
  kinds?: readonly string[];
  /** The roles of the agents that it may list as connected. Default: every role. */
  list?: readonly string[];
}

/** The rules of orchestrators with a label, which only answer. */
export const hostPolicy: RolePolicy = { to: [], kinds: [], list: [] };

const defaultKinds = ['ask', 'task', 'note'];

/**
 * The decision on a `deliver`: it is allowed, allowed only as the final reply to a request that the sender got, allowed only as another
 * answer to one, or refused.
 */
export type Verdict = 'allowed' | 'only_as_reply' | 'only_as_answer' | { refusal: string };

/** A sender with its role. No policy applies to one that is privileged. */
interface PolicySubject {
  readonly sender: { readonly role: string };
  readonly isPrivileged: boolean;
  readonly policy: RolePolicy | undefined;
}

/** Decides by the sender's role whether it may send a message of this kind to this address. A stored reply always needs its request. */
export function judgeDeliver(
  { sender: { role }, isPrivileged, policy }: PolicySubject,
  { kind, to, ephemeral = false }: { kind: string; to: string; ephemeral?: boolean | undefined },
  roles: Pick<TokenRegistry, 'rolesOf'>,
): Verdict {
  const isFinal = !ephemeral && (kind === 'reply' || kind === 'mcp_reply');
  if (kind === 'mcp_request' && role !== 'orchestrator' && isHostAgent(agentOf(to)))
    return { refusal: `'${to}' has a label and serves orchestrators only: ask the one without a label` };
  if (isPrivileged) return isFinal ? 'only_as_reply' : 'allowed';
  if (role === 'observer' && kind !== 'mcp_request')
    return { refusal: 'an observer only looks: it sends nothing but questions to an orchestrator' };
  if (role === hostRole) return judgeHost({ kind, to, ephemeral }, roles);
  if (kind === 'reply' || kind === 'progress') return isFinal ? 'only_as_reply' : 'only_as_answer';
  if (kind === 'mcp_request') {
    if (isOrchestrator(agentOf(to), roles)) return 'allowed';
    return { refusal: `'mcp_request' goes to an orchestrator only, and '${to}' is none` };
  }
  const kinds = policy?.kinds ?? defaultKinds;
  if (!kinds.includes(kind)) {
    return { refusal: `role '${role}' may not send kind '${kind}'; it may send: ${kinds.join(', ')}` };
  }
  if (!maySendTo(policy, to)) {
    return { refusal: `role '${role}' may not send to '${to}'` };
  }
  return isFinal ? 'only_as_reply' : 'allowed';
}

/** An orchestrator with a label answers others: requests that are stored, and questions that are not. Nothing else of it is stored. */
function judgeHost(
  { kind, to, ephemeral }: { kind: string; to: string; ephemeral: boolean },
  roles: Pick<TokenRegistry, 'rolesOf'>,
): Verdict {
  if (kind === 'mcp_reply' && !ephemeral) return 'only_as_reply';
  const isAnswer = (kind === 'mcp_reply' || kind === 'progress') && ephemeral;
  if (isAnswer && isOrchestrator(agentOf(to), roles)) return 'allowed';
  return {
    refusal: `an orchestrator with a label only answers orchestrators, and sends no '${kind}' to '${to}'`,
  };
}

function isOrchestrator(agent: string, roles: Pick<TokenRegistry, 'rolesOf'>): boolean {
  return agent === 'orchestrator' || roles.rolesOf(agent).has('orchestrator');
}

/** Tells whether a role with this policy may send to an address or a group. */
export function maySendTo(policy: RolePolicy | undefined, to: string): boolean {
  if (!policy?.to) return true;
  const recipient = agentOf(to);
  const isOfKind = (pattern: string): boolean => pattern === '*' || isGroup(pattern) === isGroup(recipient);
  return policy.to.some((pattern) => isOfKind(pattern) && covers(pattern, recipient));
}

/** Tells whether a role with this policy may list agents of another role as connected. */
export function mayList(policy: RolePolicy | undefined, role: string): boolean {
  return policy?.list?.some((pattern) => covers(pattern, role)) ?? true;
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

import { servesCalls } from './names/privileged-roles.ts';
import { isMintingPattern } from './names/token-text.ts';

/** The permissions that a token may have beyond acting as its agent, with what each of them allows. */
export const permissions = {
  operator: 'Sees and changes everything.',
  observer: 'Sees what happens, but no body, argument or result, and changes nothing.',
  approver: 'Decides on tool calls of certain roles that wait for a person.',
  mint: 'Issues and revokes tokens for agents under its pattern, and does nothing else.',
  'read-bodies':
    'With `observer`: reads and searches the bodies that the broker keeps. No role has it by itself.',
} as const;

/** A permission that a token may have beyond acting as its agent. */
export type Permission = keyof typeof permissions;

const operator = ['operator'] as const;
const readers = ['operator', 'observer'] as const;
const bodyReaders = ['operator', 'read-bodies'] as const;
const issuers = ['operator', 'mint'] as const;
const deciders = ['operator', 'approver'] as const;
const approvalReaders = ['operator', 'observer', 'approver'] as const;

/**
 * For each restricted operation, the permissions of which a caller needs one: by `op` of the frame `admin`, by `op` of an `mcp_request`, by
 * what frames and requests show beyond a caller's own, and for HTTP requests. The checks, the page of the protocol and the help come from
 * here.
 */
export const operationPermissions = {
  admin: {
    token_issue: issuers,
    token_list: readers,
    token_revoke: issuers,
    token_revoke_agent: operator,
    dead_list: readers,
    dead_show: operator,
    dead_retry: operator,
    dead_drop: operator,
    stop_work: operator,
    history: readers,
    threads: readers,
    thread: readers,
    texts: bodyReaders,
    thread_forget: operator,
    audit: readers,
    audit_chain: readers,
    waiting: readers,
    failures: readers,
    stats: readers,
    samples: readers,
    hooks: readers,
    schedules: readers,
    sign_in_link: approvalReaders,
    tail: readers,
    clock: readers,
    clock_accept: operator,
    backup_begin: operator,
    backup_wait: operator,
    backup_finish: operator,
    hold: operator,
    release: operator,
    holds: approvalReaders,
  },
  request: {
    calls: readers,
    servers: readers,
    explain: readers,
    matrix: readers,
    samples: readers,
    explain_mcp_content: readers,
    reload: operator,
    stop: operator,
    start: operator,
    discover: operator,
    backup: operator,
    cancel_call: operator,
    approvals: approvalReaders,
    standing_approvals: approvalReaders,
    decide: deciders,
    revoke_standing: deciders,
    definitions: readers,
    accept_definitions: operator,
  },
  frame: {
    /** `list_connected` shows agents of every role, and how much waits for each of them. */
    list_connected: readers,
    /** `list_connected` and `tail` show the member `private` of a status. */
    private_status: operator,
    /** `list_scheduled` shows messages of every sender. */
    list_scheduled: readers,
    /** `cancel` cancels messages of other senders that are not due. */
    cancel: operator,
    /** `threads` and `thread` show bodies, and search them. */
    kept_bodies: bodyReaders,
    /** `deliver` answers what other operators were asked. */
    answer: operator,
    /** `peek` reads every inbox, with bodies. */
    peek: operator,
    /** The request `manifest` shows the tools of every role. */
    manifest: readers,
    /** The request `status` shows the replies to the calls of every agent. */
    status: operator,
  },
  http: {
    /** `GET /metrics` and `GET /readyz?verbose`. */
    metrics: readers,
  },
} as const satisfies Record<string, Record<string, readonly Permission[]>>;

/** Tells whether one of the permissions that a caller `has` is among those that an operation `needs`. */
export function isPermitted(needs: readonly Permission[], has: readonly Permission[]): boolean {
  return has.some((permission) => needs.includes(permission));
}

/** Returns the permissions of a role: tokens of operators and observers have roles with the same names as their permissions. */
export function permissionsOfRole(role: string): readonly ('operator' | 'observer')[] {
  return role === 'operator' || role === 'observer' ? [role] : [];
}

/**
 * Tells whether a token does more than act for one agent: it is for a person, decides on tool calls, issues tokens, or serves the requests
 * of all agents.
 */
export function doesMoreThanAct({
  agent,
  role,
  approves,
}: {
  agent: string;
  role: string;
  approves?: unknown;
}): boolean {
  if (isMintingPattern(agent) || approves !== undefined) return true;
  return servesCalls(role) || permissionsOfRole(role).length > 0;
}

/** Lists permissions in a sentence: `operator or observer`. */
export function listPermissions(needs: readonly Permission[]): string {
  return needs.join(' or ');
}

/** The path of a broker's HTTP listener that answers 200 to a token that may see figures, and 401 or 403 to any other. */
export const figuresAccessPath = '/metrics/access';

/** The path of a broker's HTTP listener where the page of the dashboard is. */
export const dashboardPath = '/ui/';

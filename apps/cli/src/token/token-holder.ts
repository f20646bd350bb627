import { hostAgent, hostLabelPattern, hostRole, SignalboxError } from '@signalbox/protocol';

/** The options that say whom a new token is for: an agent with its role, or an operator by name. */
export interface HolderFlags {
  agent?: string;
  role?: string;
  /** The roles that the tokens of a minting token may have. */
  roles?: string[];
  /** The roles on whose tool calls the token decides, or patterns. */
  approves?: string[];
  operator?: boolean;
  /** The label of an orchestrator. */
  host?: string;
  /** The name of the operator. */
  name?: string;
  permissions: 'operator' | 'observer';
  /** An observer that also reads bodies. */
  readBodies?: true;
}

/** Decides whom a token is for. Throws `usage` if the options do not say it, or say it twice. */
export function holderOf(flags: HolderFlags): TokenHolder {
  if (flags.host !== undefined) return hostOf(flags.host, flags);
  return flags.operator ? operatorOf(flags) : agentOf(flags);
}

/** The agent and the role of a token. `roles` are those that a minting token may give; `approves` are those on whose calls it decides. */
export interface TokenHolder {
  agent: string;
  role: string;
  roles?: string[];
  approves?: string[];
  readsBodies?: true;
}

function agentOf({
  agent,
  role: named,
  roles,
  approves,
  name,
  permissions,
  readBodies,
}: HolderFlags): TokenHolder {
  const role = named ?? roles?.[0];
  if (name !== undefined || permissions !== 'operator' || readBodies)
    throw usage(
      '--name, --permissions and --read-bodies go only with --operator',
      'add --operator, or leave them out',
    );
  if (agent !== undefined && roles !== undefined && !agent.endsWith('*'))
    throw usage(
      `--roles is for a token that makes others, and '${agent}' names one agent`,
      "name its role with --role, or a pattern such as --agent 'ci-*'",
    );
  if (agent !== undefined && role !== undefined)
    return { agent, role, ...(roles && { roles }), ...(approves && { approves }) };
  const missing = agent === undefined ? '--agent <name>' : '--role <role>';
  throw usage(`option '${missing}' is missing`, 'see: signalbox token issue --help');
}

function hostOf(label: string, { agent, role, roles, approves, operator, name }: HolderFlags): TokenHolder {
  if ([agent, role, roles, approves, operator, name].some((option) => option !== undefined))
    throw usage(
      '--host says whom the token is for, and goes with none of --agent, --role, --roles, --approves, --operator and --name',
      'leave them out',
    );
  if (!hostLabelPattern.test(label))
    throw usage(
      `--host: '${label}' is no label`,
      'use lower-case letters, digits, _ and - (at most 32), as in --host gpu',
    );
  return { agent: hostAgent(label), role: hostRole };
}

function operatorOf({
  agent,
  role,
  roles,
  approves,
  name,
  permissions,
  readBodies,
}: HolderFlags): TokenHolder {
  if (readBodies && permissions !== 'observer')
    throw usage(
      '--read-bodies is for an observer: an operator reads bodies anyway',
      'add --permissions observer',
    );
  if (approves !== undefined)
    throw usage(
      '--approves does not go with --operator: an operator decides on everything',
      'leave it out, or name an agent with --agent and --role',
    );
  if (agent !== undefined || role !== undefined || roles !== undefined)
    throw usage('--agent, --role and --roles do not go with --operator', 'name the operator with --name');
  if (name === undefined)
    throw usage("option '--name <name>' is missing", 'say whose token it is, as in --name alice');
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
    throw usage(`'${name}' is no name for an operator`, 'use lower-case letters, digits, _ and -');
  return { agent: `operator.${name}`, role: permissions, ...(readBodies && { readsBodies: true }) };
}

function usage(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', message, { details: { hint } });
}

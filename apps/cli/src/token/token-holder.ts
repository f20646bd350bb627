import { SignalboxError } from '@signalbox/protocol';

/** The options that say whom a new token is for: an agent with its role, or an operator by name. */
export interface HolderFlags {
  agent?: string;
  role?: string;
  operator?: boolean;
  /** The name of the operator. */
  name?: string;
  permissions: 'operator' | 'observer';
}

/** Decides whom a token is for. Throws `usage` if the options do not say it, or say it twice. */
export function holderOf(flags: HolderFlags): { agent: string; role: string } {
  return flags.operator ? operatorOf(flags) : agentOf(flags);
}

function agentOf({ agent, role, name, permissions }: HolderFlags): { agent: string; role: string } {
  if (name !== undefined || permissions !== 'operator')
    throw usage('--name and --permissions go only with --operator', 'add --operator, or leave them out');
  if (agent !== undefined && role !== undefined) return { agent, role };
  const missing = agent === undefined ? '--agent <name>' : '--role <role>';
  throw usage(`option '${missing}' is missing`, 'see: signalbox token issue --help');
}

function operatorOf({ agent, role, name, permissions }: HolderFlags): { agent: string; role: string } {
  if (agent !== undefined || role !== undefined)
    throw usage('--agent and --role do not go with --operator', 'name the operator with --name');
  if (name === undefined)
    throw usage("option '--name <name>' is missing", 'say whose token it is, as in --name alice');
  if (!/^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
    throw usage(`'${name}' is no name for an operator`, 'use lower-case letters, digits, _ and -');
  return { agent: `operator.${name}`, role: permissions };
}

function usage(message: string, hint: string): SignalboxError {
  return new SignalboxError('usage', message, { details: { hint } });
}

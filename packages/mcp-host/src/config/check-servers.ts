import { questionKinds, SignalboxError } from '@signalbox/protocol';
import { ownPrefix } from '../environment/inherited-variables.ts';
import { namesDataFolder, namesInstance } from './instance-name.ts';
import type { McpServerConfig, ServerPolicy } from './server-config.ts';
import { limitsOf } from './server-limits.ts';

const sharings = new Set(['all', 'role', 'worker']);
const definitionModes = new Set(['follow', 'pin']);

/**
 * Throws `SignalboxError` `bad_config`, which names the server and the field, for a configuration that can't work. `host` says whether
 * servers can have folders for their files, and pins.
 */
export function checkServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  host: { hasStateDir: boolean; hasPins: boolean },
): void {
  for (const [name, config] of Object.entries(servers)) {
    const problem = name === '' ? 'a server needs a name' : problemOf(config, host);
    if (problem === undefined) continue;
    throw new SignalboxError('bad_config', name === '' ? problem : `server '${name}': ${problem}`);
  }
}

function problemOf(
  config: McpServerConfig,
  { hasStateDir, hasPins }: { hasStateDir: boolean; hasPins: boolean },
): string | undefined {
  const { share = 'all', definitions = 'follow' } = config;
  if (!sharings.has(share)) return `share must be all, role or worker, not '${share}'`;
  if (!definitionModes.has(definitions)) return `definitions must be follow or pin, not '${definitions}'`;
  if (definitions === 'pin' && !hasPins)
    return 'definitions: pin needs a store of pins, and the host has none; give it one, or take definitions out';
  const question = config.questions?.find((kind) => !questionKinds.includes(kind));
  if (question !== undefined) return `questions must name ${questionKinds.join(', ')}, not '${question}'`;
  if (share !== 'worker' && config.questions?.includes('roots'))
    return 'questions: roots of one client are nothing for the others; set share: worker, or leave roots out';
  const number = numberProblem(config) ?? limitProblem(config);
  if (number !== undefined) return number;
  if (config.type === 'http') {
    const isHttp = /^https?:$/.test(URL.parse(config.url)?.protocol ?? '');
    return isHttp ? undefined : 'its url is not an http or https URL';
  }
  if (config.type === 'remote') return undefined;
  if (config.command === '') return 'command must name a program';
  const own = config.inheritEnv?.find((name) => name.startsWith(ownPrefix));
  if (own !== undefined)
    return `inheritEnv must not name ${own}: no server gets variables named ${ownPrefix}…, which hold tokens; take it out`;
  if (!hasStateDir && namesDataFolder(config)) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
    return "'${data}' stands for a folder in the host's stateDir, and the host has none; give it one, or write a path";
  }
  if (share === 'all' && namesInstance(config)) {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
    return "'${instance}' stands for a role or worker; set share: role or share: worker, or leave it out";
  }
  return undefined;
}

const leastOf: Partial<Record<keyof ServerPolicy, number>> = {
  keepAliveMs: 0,
  maxRestarts: 0,
  restartWindowMs: 1,
  circuitThreshold: 1,
  circuitResetMs: 1,
  concurrency: 1,
  timeoutMs: 1,
  startTimeoutMs: 1,
  downWaitMs: 0,
};

function numberProblem(config: ServerPolicy): string | undefined {
  for (const [field, least] of Object.entries(leastOf)) {
    const value = config[field as keyof ServerPolicy];
    if (value === undefined || (Number.isSafeInteger(value) && Number(value) >= least)) continue;
    return `${field} must be a whole number from ${least} up, not ${String(value)}`;
  }
  return undefined;
}

function limitProblem(config: McpServerConfig): string | undefined {
  for (const [name, value] of Object.entries(limitsOf(config))) {
    if (Number.isSafeInteger(value) && value >= 1) continue;
    return `limits.${name} must be a whole number from 1 up, not ${String(value)}`;
  }
  return undefined;
}

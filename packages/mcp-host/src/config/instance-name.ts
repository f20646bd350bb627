import { createHash } from 'node:crypto';
import type { McpServerConfig, ServerSharing, StdioServerConfig } from './server-config.ts';

/** For whom a call is made. */
export interface Caller {
  agent: string;
  role: string;
}

/** The instance that learns what an unshared server offers, for nobody. */
export const listingInstance = 'listing';

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
const placeholder = '${instance}';

/** Which instance serves a caller: empty for everybody's, else such as `worker:rosa`; `undefined` when it takes a caller to tell. */
export function instanceFor(share: ServerSharing, caller: Caller | undefined): string | undefined {
  if (share === 'all') return '';
  if (!caller) return undefined;
  return share === 'role' ? `role:${caller.role}` : `worker:${caller.agent}`;
}

/**
 * An instance's name as it may stand in a file name: `worker-rosa`. What has other characters than `a-z0-9_-`, is long,
 * or looks as if it had been, ends in a hash: no two instances have the same, on any file system.
 */
export function fileNameOf(instance: string): string {
  const plain = instance.replace(':', '-');
  if (/^[a-z0-9_-]{1,64}$/.test(plain) && !/-[0-9a-f]{16}$/.test(plain)) return plain;
  const hash = createHash('sha256').update(instance).digest('hex').slice(0, 16);
  const letters = plain
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '_')
    .slice(0, 40);
  return `${letters}-${hash}`;
}

/** Whether the configuration holds `${instance}` in `args`, `env` or `cwd`. */
export function namesInstance(config: StdioServerConfig): boolean {
  const { args = [], env = {}, cwd = '' } = config;
  return [...args, ...Object.values(env), cwd].some((text) => text.includes(placeholder));
}

/** The configuration of one instance: `${instance}` in `args`, `env` and `cwd` is its name, as a file name. */
export function instanceConfig(instance: string, config: McpServerConfig): McpServerConfig {
  if (config.type !== 'stdio' || instance === '' || !namesInstance(config)) return config;
  const name = fileNameOf(instance);
  const fill = (text: string) => text.replaceAll(placeholder, () => name);
  const { args, env, cwd, ...rest } = config;
  return {
    ...rest,
    ...(args && { args: args.map(fill) }),
    ...(env && { env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)])) }),
    ...(cwd !== undefined && { cwd: fill(cwd) }),
  };
}

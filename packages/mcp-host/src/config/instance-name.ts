import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Caller } from '../tool-calls/index.ts';
import type { McpServerConfig, ServerSharing, StdioServerConfig } from './server-config.ts';

/** The name of the instance that only lists the tools of an unshared server, and serves no caller. */
export const listingInstance = 'listing';

// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
const instancePlaceholder = '${instance}';
// biome-ignore lint/suspicious/noTemplateCurlyInString: the placeholder as people write it
const dataPlaceholder = '${data}';

/**
 * Returns the name of the instance that serves a caller: empty for the one that serves all callers, or for example `worker:rosa`;
 * `undefined` if there is no caller and the server is not shared by all.
 */
export function instanceFor(share: ServerSharing, caller: Caller | undefined): string | undefined {
  if (share === 'all') return '';
  if (!caller) return undefined;
  return share === 'role' ? `role:${caller.role}` : `worker:${caller.agent}`;
}

/** Returns the fields of a log event that name an instance; `instance` is left out for the one that serves all callers. */
export function instanceFacts(server: string, instance: string): { server: string; instance?: string } {
  return { server, ...(instance !== '' && { instance }) };
}

/**
 * Returns the name of an instance in a form that fits a file name, for example `worker-rosa`. A name that is long or has other characters
 * than `a-z0-9_-` ends in a hash, and so does a name that already looks like that: no two instances have the same file name on any file
 * system.
 */
export function fileNameOf(instance: string): string {
  return uniqueFileName(instance.replace(':', '-'), instance);
}

/** Returns the folder for the files of a server, in the state directory of its host. No two servers have the same one. */
export function dataFolderOf(stateDir: string, server: string): string {
  return join(stateDir, 'servers', uniqueFileName(server, server));
}

function uniqueFileName(plain: string, whole: string): string {
  if (/^[a-z0-9_-]{1,64}$/.test(plain) && !/-[0-9a-f]{16}$/.test(plain)) return plain;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 16);
  const letters = plain
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, '_')
    .slice(0, 40);
  return `${letters}-${hash}`;
}

/** Returns true if the configuration holds `${instance}` in `args`, `env` or `cwd`. */
export function namesInstance(config: StdioServerConfig): boolean {
  return textsOf(config).some((text) => text.includes(instancePlaceholder));
}

/** Returns true if the configuration holds `${data}` in `args`, `env` or `cwd`. */
export function namesDataFolder(config: McpServerConfig): boolean {
  return config.type === 'stdio' && textsOf(config).some((text) => text.includes(dataPlaceholder));
}

/**
 * Returns the configuration of one instance: in `args`, `env` and `cwd`, `${instance}` is replaced by its file name, and `${data}` by
 * the folder for the files of its server.
 */
export function instanceConfig(
  instance: string,
  config: McpServerConfig,
  dataFolder: string | undefined,
): McpServerConfig {
  if (config.type !== 'stdio') return config;
  const fillsInstance = instance !== '' && namesInstance(config);
  const fillsData = dataFolder !== undefined && namesDataFolder(config);
  if (!fillsInstance && !fillsData) return config;
  const name = fillsInstance ? fileNameOf(instance) : instancePlaceholder;
  const folder = dataFolder ?? dataPlaceholder;
  const fill = (text: string) =>
    text.replaceAll(instancePlaceholder, () => name).replaceAll(dataPlaceholder, () => folder);
  const { args, env, cwd, ...rest } = config;
  return {
    ...rest,
    ...(args && { args: args.map(fill) }),
    ...(env && { env: Object.fromEntries(Object.entries(env).map(([key, value]) => [key, fill(value)])) }),
    ...(cwd !== undefined && { cwd: fill(cwd) }),
  };
}

function textsOf({ args = [], env = {}, cwd = '' }: StdioServerConfig): string[] {
  return [...args, ...Object.values(env), cwd];
}

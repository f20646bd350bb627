import type { StdioServerConfig } from '../config/server-config.ts';
import { inheritedVariables, ownPrefix } from './inherited-variables.ts';

/**
 * Returns the environment of a server: the variables of this process that it inherits, and over them those of its
 * configuration. Variables named `SIGNALBOX_…` are left out even if they are configured, because they hold tokens.
 */
export function serverEnvironment(
  { env = {}, inheritEnv }: Pick<StdioServerConfig, 'env' | 'inheritEnv'>,
  ours: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const configured = Object.entries(env).filter(([name]) => !name.startsWith(ownPrefix));
  return { ...inheritedVariables(inheritEnv, ours).variables, ...Object.fromEntries(configured) };
}

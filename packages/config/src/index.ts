// The configuration that processes run with, and where it comes from.
export {
  type BudgetEntry,
  builtInConfig,
  type Config,
  type RepeatEntry,
  type RoleEntry,
  settleConfig,
} from './config.ts';
export { configJsonSchema } from './json-schema.ts';
// Where a process listens.
export { formatListenAddress, type ListenAddress, parseListenAddress } from './listen-address.ts';
export { listenError } from './listen-error.ts';
export { findConfigFile, loadConfig } from './load-config.ts';
export type { ConfigPart } from './parse-config.ts';
export type { LoadOptions } from './read-config.ts';
export type { ConfigDocument } from './schema/config-schema.ts';
export type { ServerOrigin } from './servers/merge-servers.ts';

// The parts of a configuration that are right by themselves, and do not go with the rest.
export { configWarnings } from './checks/config-warnings.ts';
// The configuration that processes run with, and where it comes from.
export {
  type AuthEntry,
  type BudgetEntry,
  builtInConfig,
  type Config,
  type RepeatEntry,
  type RoleEntry,
  settleConfig,
} from './config.ts';
// How a command finds its configuration.
export {
  configFileNames,
  type FoundConfig,
  findConfig,
  type SearchStart,
  searchedText,
} from './discovery/find-config.ts';
// Whom the configuration lets reach what is nobody else's.
export { type GuardedFiles, heldBy, withExposureChecked } from './exposure/exposures.ts';
export { reloadObstacle } from './exposure/reload-obstacle.ts';
export { settledPath } from './exposure/settled-path.ts';
export { writableByOthers } from './exposure/writable-by-others.ts';
export { configJsonSchema } from './json-schema.ts';
// Where a process listens.
export { formatListenAddress, type ListenAddress, parseListenAddress } from './listen-address.ts';
export { listenError } from './listen-error.ts';
export { checkConfigText, loadConfig } from './load-config.ts';
export type { ConfigPart } from './parse-config.ts';
export type { LoadOptions } from './read-config.ts';
export type { ConfigDocument } from './schema/config-schema.ts';
export { importPathText } from './servers/import-path.ts';
export type { ServerOrigin } from './servers/merge-servers.ts';

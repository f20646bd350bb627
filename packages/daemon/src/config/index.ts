// The configuration that processes run with, and where it comes from.
export type { AuthEntry, BudgetEntry, Config, RepeatEntry, RoleEntry } from './config.ts';
export { configJsonSchema } from './json-schema.ts';
// Where a process listens.
export { type ListenAddress, parseListenAddress } from './listen-address.ts';
export { checkConfigText, loadConfig } from './load-config.ts';
export type { ConfigPart } from './parse-config.ts';
export type { LoadOptions } from './read-config.ts';
export type { ConfigDocument } from './schema/config-schema.ts';
export type { ServerOrigin } from './servers/merge-servers.ts';

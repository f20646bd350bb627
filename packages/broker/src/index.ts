export type { IdentityProvider, ProviderRefusal } from './auth/identity-provider.ts';
export type { RolePolicy } from './auth/role-policy.ts';
export type { TokenRequest } from './auth/token-rules.ts';
export { type BrokerFacts, brokerFiles } from './broker-files.ts';
export type { BrokerOptions } from './broker-options.ts';
export type { Log } from './log.ts';
export type { ScheduleSettings } from './schedules/schedule-settings.ts';
export { type Broker, startBroker } from './start-broker.ts';
export type { HookSettings } from './webhooks/hook-settings.ts';

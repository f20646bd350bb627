export type { TokenRequest } from './auth/token-rules.ts';
export { type BrokerFacts, brokerFiles, readBrokerFacts } from './broker-files.ts';
export type { Log } from './log.ts';
export type { RolePolicy } from './session/policy.ts';
export { type Broker, type BrokerOptions, startBroker } from './start-broker.ts';

export { type BrokerOptions, type RunningBroker, runBroker } from './run-broker.ts';

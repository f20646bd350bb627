export { type RunBrokerOptions, type RunningBroker, runBroker } from './run-broker.ts';

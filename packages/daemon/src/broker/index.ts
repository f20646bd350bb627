export { dashboardOf } from './dashboard-of.ts';
export { type RunBrokerOptions, type RunningBroker, runBroker } from './run-broker.ts';

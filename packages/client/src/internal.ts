// For our own packages and programs only: anything here may change in any version.

export { type StartTimer, startTimer } from './clock.ts';
export { toolErrorCodeOf } from './refused-call.ts';
export { awaitFreeInbox, requireFreeInbox } from './serving/free-inbox.ts';
export { waitForBroker } from './socket/wait-for-broker.ts';

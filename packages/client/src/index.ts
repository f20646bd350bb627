export { type BackoffPolicy, backoffMs, backoffPolicies } from './backoff.ts';
export type {
  AckResult,
  BrokerClient,
  DeliverCallOptions,
  ServeLoop,
  ServeOptions,
} from './broker-client.ts';
export type { Log, StartTimer } from './clock.ts';
export { type ConnectOptions, connectBroker, requestAddress } from './connect.ts';
export { type ClientErrorCode, clientErrorCodes } from './errors.ts';
export type { Subscription } from './message-stream.ts';
export type { Outgoing } from './outgoing.ts';
export type { SubscribeOptions } from './own-subscription.ts';
export type { ParsedMessage, RequestOptions, RequestOutcome } from './request-waiter.ts';
export {
  type BadBodyHandler,
  handBack,
  type ServeAnswer,
  type ServedReply,
  type ServedRequest,
  type ServeHandler,
} from './served-run.ts';
export type { ClientState } from './supervisor.ts';

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
export type { Outgoing } from './requests/outgoing.ts';
export type { ParsedMessage, RequestOptions, RequestOutcome } from './requests/pending-request.ts';
export {
  type BadBodyHandler,
  handBack,
  type ServeAnswer,
  type ServedReply,
  type ServedRequest,
  type ServeHandler,
} from './serving/accepted-request.ts';
export type { SubscribeOptions } from './serving/inbox-subscription.ts';
export type { Subscription } from './serving/message-stream.ts';
export { type BackoffPolicy, backoffMs, backoffPolicies } from './socket/backoff.ts';
export type { ClientState } from './socket/supervisor.ts';

export type { CancelSignal } from '@signalbox/protocol';
export {
  type AckResult,
  type BrokerClient,
  type ClientState,
  type DeliverCallOptions,
  handBack,
  type Log,
  type Outgoing,
  type ParsedMessage,
  type PeekOptions,
  type Receipt,
  type ReplyEnd,
  type RequestOptions,
  type RequestOutcome,
  type ServeAnswer,
  type ServedReply,
  type ServedRequest,
  type ServeFailure,
  type ServeHandler,
  type ServeLoop,
  type ServeOptions,
  type SubscribeOptions,
  type Subscription,
} from './broker-client.ts';
export { type ConnectOptions, connectBroker, groupAddress } from './connect.ts';
export { type ClientErrorCode, clientErrorCodes } from './errors.ts';
export { requestAddress } from './request-address.ts';
export { newMessageId } from './requests/message-id.ts';
export type { HoldsListener } from './socket/holds-follower.ts';
export type { RightsListener } from './socket/rights-follower.ts';
